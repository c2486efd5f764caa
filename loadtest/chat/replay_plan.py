"""The plan of a replay: what is sent over each WebSocket connection."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from loadtest.chat.chat_generator import Conversation
from loadtest.chat.irc_log import Log
from loadtest.chat.irc_membership import Channel, channel_of
from loadtest.client.chat_events import ChatEvent

CONNECTIONS_FOR_LOGS = 8
PACE = 200.0
"""Messages per second of a generated conversation."""
WARM_UP = 0.2
"""The share of a generated conversation that is sent first, while functions start."""
PART = 100
"""Events of a log to send together."""


@dataclass(frozen=True)
class ReplayStream:
    """Events to send in order over one WebSocket, as ``user`` with ``scopes``; ``single`` for one per frame.

    ``rate`` is frames per second; without it each frame follows the answer to the one before.
    """

    user: str
    scopes: tuple[str, ...]
    events: Sequence[ChatEvent]
    single: bool
    rate: float | None = None

    def parts(self) -> Iterable[Sequence[ChatEvent]]:
        """The events to send together."""
        size = 1 if self.single else PART
        return (self.events[first : first + size] for first in range(0, len(self.events), size))


@dataclass(frozen=True)
class Plan:
    """A replay. ``permitted`` are events that an earlier replay may have left in the same rooms.

    ``channels`` are rooms with members, to import before the first event is sent. ``warm_up`` is sent before
    ``streams``, and its latencies are not measured.
    """

    title: str
    streams: tuple[ReplayStream, ...]
    connections: int
    users: int
    permitted: tuple[ChatEvent, ...] = ()
    notes: tuple[str, ...] = ()
    channels: tuple[Channel, ...] = ()
    warm_up: tuple[ReplayStream, ...] = ()

    @property
    def messages(self) -> int:
        """How many events are sent."""
        return sum(len(stream.events) for stream in (*self.warm_up, *self.streams))


def plan_conversation(talk: Conversation, *, one_token: bool = False) -> Plan:
    """A connection and a token for each user, a frame for each message, at ``PACE`` after a warm-up.

    With ``one_token`` all connections have the token of a trusted producer, which names the user of each event.
    """
    said: dict[str, list[ChatEvent]] = {user: [] for user in talk.users}
    for event in talk.events:
        said[event.user_id].append(replace(event, username=event.user_id) if one_token else event)
    scopes = ("events:write",) if one_token else ("chat:write",)
    pace = PACE / max(1, len(talk.events))
    streams = [
        ReplayStream(user, scopes, events, single=True, rate=len(events) * pace)
        for user, events in said.items()
        if events
    ]
    first = [math.ceil(len(stream.events) * WARM_UP) for stream in streams]
    warm_up = tuple(replace(each, events=each.events[:n], rate=None) for each, n in zip(streams, first, strict=True))
    rest = tuple(replace(each, events=each.events[n:]) for each, n in zip(streams, first, strict=True))
    title, connections = f"conversation {talk.run}", max(1, len(streams))
    return Plan(title, rest, connections, len(streams), warm_up=warm_up)


def plan_logs(logs: Sequence[Log], messages: int | None = None) -> Plan:
    """A trusted producer for each log, with frames of up to 100 events; a few logs at a time.

    ``messages`` limits how many are sent, counted over all logs in order.
    """
    left = messages if messages is not None else sum(len(log.messages) for log in logs)
    streams: list[ReplayStream] = []
    permitted: list[ChatEvent] = []
    channels: list[Channel] = []
    for log in logs:
        sent, rest = log.messages[:left], log.messages[left:]
        left -= len(sent)
        if sent:
            streams.append(ReplayStream(f"replay-{log.room_id}", ("events:write",), sent, single=False))
            permitted.extend(rest)
            channels.append(channel_of(log))
    users = len({event.user_id for stream in streams for event in stream.events})
    kinds = {kind: sum(log.kinds[kind] for log in logs) for log in logs for kind in log.kinds}
    lines = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items(), key=lambda entry: -entry[1]))
    title = f"{len(logs)} IRC log{'' if len(logs) == 1 else 's'}"
    connections = max(1, min(CONNECTIONS_FOR_LOGS, len(streams)))
    return Plan(title, tuple(streams), connections, users, tuple(permitted), (lines,), tuple(channels))
