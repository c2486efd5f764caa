"""What sensors have measured."""

from typing import Literal

from headrace.declare import Event, Field, Id, Stream


class Reading(Event):
    """A value that a sensor has measured."""

    sensor: Id
    kind: Literal["temperature", "humidity"]
    value: float = Field(ge=-1000, le=1000)
    battery: int | None = Field(default=None, ge=0, le=100)


STREAM = Stream("sensor-readings", Reading, key="sensor", counts=("kind",), sums=("value", "battery"), keep_days=30)
