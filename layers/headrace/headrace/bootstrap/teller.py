"""Builds what tells others."""

from __future__ import annotations

import functools

from headrace.core.stream import Tell
from headrace.delivery.teller import Teller, ToldStream
from headrace.queues.sqs import SqsRetryLane
from headrace.queues.targets import TIMEOUT, target_of
from headrace.runtime.aws import client
from headrace.runtime.settings import ObserveSettings, TellSettings
from headrace.streams.ads import stream as ads
from headrace.streams.chat import told as messages
from headrace.streams.registry import STREAMS
from headrace.streams.ski import stream as ski

TOLD: dict[str, tuple[Tell, tuple[str, ...]]] = {
    "chat": (messages.tell, messages.TYPES),
    "ski": (ski.tell, (ski.STORED_TYPE, ski.TAKEN_BACK_TYPE)),
    "ads": (ads.tell, (ads.STORED_TYPE, ads.TAKEN_BACK_TYPE)),
}
"""By stream: what is told of a change, and its types."""


@functools.cache
def teller() -> Teller:
    """Tells the target of the settings."""
    settings = TellSettings.read()
    streams = {
        frozenset((STREAMS[name].partition_key, STREAMS[name].sort_key)): ToldStream(name, tell)
        for name, (tell, _) in TOLD.items()
    }
    target = target_of(settings.tell_target, lambda service: client(service, timeout=TIMEOUT))
    untold = SqsRetryLane(settings.untold_queue_url, client("sqs"))
    return Teller(target, streams, settings.tell_types, ObserveSettings.read().powertools_service_name, untold)
