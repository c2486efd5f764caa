"""The registry of streams, by name. A new stream is one folder here and one line below."""

from __future__ import annotations

from headrace.core.stream import Stream
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from headrace.streams.probe import PROBE
from headrace.streams.ski.stream import SKI

STREAMS: dict[str, Stream] = {stream.name: stream for stream in (CHAT, PROBE, SKI, ADS)}
