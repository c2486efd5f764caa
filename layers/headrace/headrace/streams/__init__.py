"""The streams there are, by name. A new stream is one module here and one line below; nothing else changes."""

from __future__ import annotations

from headrace.errors import PoisonRecord, shown
from headrace.streams.base import Stream
from headrace.streams.chat import CHAT
from headrace.streams.probe import PROBE

STREAMS: dict[str, Stream] = {stream.name: stream for stream in (CHAT, PROBE)}


def stream_named(name: str) -> Stream:
    """The stream of that name, for a record that says which it belongs to.

    Raises:
        PoisonRecord: unknown_stream.
    """
    stream = STREAMS.get(name)
    if stream is None:
        raise PoisonRecord("unknown_stream", f"no stream is named {shown(name)}")
    return stream
