"""Doors that were opened."""

from typing import Literal

from headrace.declare import Event, Field, Id, Stream, User


class Opening(Event):
    """An opening of a door."""

    door: Id
    badge: User
    method: Literal["card", "code", "phone"] = "card"
    held_ms: int = Field(default=0, ge=0, le=3_600_000)


STREAM = Stream(
    "doors",
    Opening,
    key="door",
    counts=("method",),
    sums=("held_ms",),
    keep_days=90,
)
