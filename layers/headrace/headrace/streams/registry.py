"""The registry of streams, by name. A new stream is one folder here and one line below."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from headrace.core.errors import FollowUpUnavailable, PoisonRecord, StoreUnavailable, echo
from headrace.core.items import Item
from headrace.core.stream import AfterStore, Stream
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from headrace.streams.probe import PROBE
from headrace.streams.ski.stream import SKI

STREAMS: dict[str, Stream] = {stream.name: stream for stream in (CHAT, PROBE, SKI, ADS)}


def stream_named(name: str) -> Stream:
    """The stream with this name.

    Raises:
        PoisonRecord: unknown_stream.
    """
    stream = STREAMS.get(name)
    if stream is None:
        raise PoisonRecord("unknown_stream", f"no stream is named {echo(name)}")
    return stream


class StreamHooks:
    """Calls the hook of a row's stream, if it has one. ``factories`` build the hooks, by stream name, on first use."""

    def __init__(self, factories: Mapping[str, Callable[[], AfterStore]]) -> None:
        self._hooks = {name: functools.cache(build) for name, build in factories.items()}

    def after_store(
        self, stream: Stream, items: Sequence[Item]
    ) -> Sequence[StoreUnavailable | PoisonRecord | FollowUpUnavailable | None]:
        hook = self._hooks.get(stream.name)
        return [None] * len(items) if hook is None else hook().after_store(stream, items)
