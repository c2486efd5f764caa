"""Builds what the functions that receive events need, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from headrace.accept import Acceptor
from headrace.breaker_board import BreakerBoard
from headrace.broker.guarded import GuardedPublisher
from headrace.broker.rabbitmq import RabbitPublisher
from headrace.frames import Frames
from headrace.gates import Gate
from headrace.http_writes import HttpWrites
from headrace.retry_lane.sqs import SqsRetryLane
from headrace.rights import gate
from headrace.secrets import ManagedSecrets
from headrace.settings import EnvironmentSettings, WriteSettings
from headrace.streams import stream_gates
from headrace.streams.chat import CHAT
from headrace.times import SystemClock


@functools.cache
def frames() -> Frames:
    """Answers WebSocket frames."""
    return Frames(_chat_acceptor(), SystemClock(), WriteSettings.read().scope_prefix)


@functools.cache
def http_writes() -> HttpWrites:
    """Answers HTTP writes."""
    return HttpWrites(acceptor({CHAT.name: gate(), **stream_gates()}), WriteSettings.read().scope_prefix)


def _chat_acceptor() -> Acceptor:
    return acceptor({CHAT.name: gate()})


def acceptor(gates: Mapping[str, Gate]) -> Acceptor:
    """Accepts events, those of a stream in ``gates`` only with a right."""
    settings = WriteSettings.read()
    board = BreakerBoard(EnvironmentSettings.read())
    publisher = GuardedPublisher(RabbitPublisher(settings, ManagedSecrets()), settings, board)
    return Acceptor(publisher, SqsRetryLane(settings.retry_queue_url), settings.persist_queues, SystemClock(), gates)
