"""What a file of the folder ``streams`` declares a stream with.

from headrace.declare import Event, Field, Id, Stream, User

class Opening(Event):
    door: Id
    badge: User
    held_ms: int = Field(default=0, ge=0, le=3_600_000)

STREAM = Stream("doors", Opening, key="door", counts=("door",), sums=("held_ms",), keep_days=90)
"""

from pydantic import Field

from headrace.declare.fields import Event, Id, Secret, User
from headrace.declare.stream import Refused, Stream

__all__ = ["Event", "Field", "Id", "Refused", "Secret", "Stream", "User"]
