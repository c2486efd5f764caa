"""The streams that there are, by name. A new stream is one folder here and one line below."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import PoisonRecord, StoreUnavailable, echo
from headrace.core.items import Item
from headrace.core.stream import Entrance, Listener, Stream
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from headrace.streams.probe import PROBE
from headrace.streams.ski.stream import SKI

STREAMS: dict[str, Stream] = {stream.name: stream for stream in (CHAT, PROBE, SKI, ADS)}


def stream_named(name: str) -> Stream:
    """The stream of that name, for a record that says which it belongs to.

    Raises:
        PoisonRecord: unknown_stream.
    """
    stream = STREAMS.get(name)
    if stream is None:
        raise PoisonRecord("unknown_stream", f"no stream is named {echo(name)}")
    return stream


def stream_gates() -> dict[str, Entrance]:
    """The gates that streams declare, made now, by stream name."""
    return {name: stream.gate() for name, stream in STREAMS.items() if stream.gate is not None}


class StreamListeners:
    """Tells each stream's own listener, made when the first of its rows is stored."""

    def __init__(self) -> None:
        self._made: dict[str, Listener] = {}

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[StoreUnavailable | PoisonRecord | None]:
        """One outcome per item, in order."""
        if stream.listener is None:
            return [None] * len(items)
        if stream.name not in self._made:
            self._made[stream.name] = stream.listener()
        return self._made[stream.name].stored(stream, items)
