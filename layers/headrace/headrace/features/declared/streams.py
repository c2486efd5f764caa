"""The declared streams of the stage, by name."""

from __future__ import annotations

from pydantic import Field

from headrace.api.params import Params
from headrace.core.errors import FieldError, NotFound, echo
from headrace.core.fields import Text
from headrace.core.stream import Stream
from headrace.features.declared.stream import GROUP
from headrace.stage.registry import STREAMS

STREAM_FORM = "the name of a declared stream"


class StreamPath(Params):
    """A declared stream."""

    stream: Text = Field(min_length=1, max_length=30, description=STREAM_FORM)


def stream_named(name: object) -> Stream:
    """The declared stream of that name.

    Raises:
        NotFound: there is none. Which ones there are is not said: a stranger asks, too.
    """
    stream = STREAMS.get(name) if isinstance(name, str) else None
    if stream is None or stream.group != GROUP:
        detail = FieldError("stream", "is not declared", echo(name), STREAM_FORM)
        raise NotFound("there is no such stream", details=[detail])
    return stream
