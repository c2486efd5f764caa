"""What a replay sends, cut into one stream per connection, and the threads that send it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from loadtest.chat.chat_generator import Conversation
from loadtest.chat.irc_log import Log
from loadtest.chat.irc_membership import Channel, channel_of
from loadtest.checker.checker import Checker
from loadtest.checker.durability_probe import DurabilityProbe
from loadtest.client.chat_events import ChatEvent, batches
from loadtest.client.target import Target
from loadtest.sending.websocket_sender import WebSocketSender
from localstage.client.errors import ClientError

CONNECTIONS_FOR_LOGS = 8
WINDOW_SINGLE, WINDOW_BATCH = 8, 2


@dataclass(frozen=True)
class Stream:
    """Events that go over one WebSocket, in order, signed in as ``user`` with ``scopes``."""

    user: str
    scopes: tuple[str, ...]
    events: Sequence[ChatEvent]
    single: bool

    def frames(self) -> Iterable[Sequence[ChatEvent]]:
        """The events, cut into frames."""
        return ([event] for event in self.events) if self.single else batches(self.events)


@dataclass(frozen=True)
class Plan:
    """A whole replay. ``permitted`` are events that an earlier replay may have left in the same rooms.

    ``channels`` are the rooms that have members, to be imported before anything is sent.
    """

    title: str
    streams: tuple[Stream, ...]
    connections: int
    users: int
    permitted: tuple[ChatEvent, ...] = ()
    notes: tuple[str, ...] = ()
    channels: tuple[Channel, ...] = ()

    @property
    def messages(self) -> int:
        """How many events will be sent."""
        return sum(len(stream.events) for stream in self.streams)


def plan_conversation(talk: Conversation) -> Plan:
    """Everybody on their own connection with their own token, one frame per message."""
    said: dict[str, list[ChatEvent]] = {user: [] for user in talk.users}
    for event in talk.events:
        said[event.user_id].append(event)
    streams = tuple(Stream(user, ("chat:write",), events, single=True) for user, events in said.items() if events)
    return Plan(f"conversation {talk.run}", streams, max(1, len(streams)), len(streams))


def plan_logs(logs: Sequence[Log], messages: int | None = None) -> Plan:
    """One trusted producer per log, frames of up to 100; a few logs at a time, since they have thousands of nicks.

    ``messages`` limits how many are sent, counted over all logs in order.
    """
    left = messages if messages is not None else sum(len(log.messages) for log in logs)
    streams: list[Stream] = []
    permitted: list[ChatEvent] = []
    channels: list[Channel] = []
    for log in logs:
        sent, rest = log.messages[:left], log.messages[left:]
        left -= len(sent)
        if sent:
            streams.append(Stream(f"replay-{log.room_id}", ("events:write",), sent, single=False))
            permitted.extend(rest)
            channels.append(channel_of(log))
    users = len({event.user_id for stream in streams for event in stream.events})
    kinds = {kind: sum(log.kinds[kind] for log in logs) for log in logs for kind in log.kinds}
    lines = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items(), key=lambda entry: -entry[1]))
    title = f"{len(logs)} IRC log{'' if len(logs) == 1 else 's'}"
    connections = max(1, min(CONNECTIONS_FOR_LOGS, len(streams)))
    return Plan(title, tuple(streams), connections, users, tuple(permitted), (lines,), tuple(channels))


@dataclass
class Sending:
    """Sends a plan's streams, a bounded number at once; ``troubles`` are sentences about streams that broke off."""

    plan: Plan
    target: Target
    checker: Checker
    prober: DurabilityProbe
    answered: Callable[[int], object]
    troubles: list[str] = field(default_factory=list)

    def run(self) -> float:
        """Send everything and return the seconds from the first frame to the last answer."""
        for event in self.plan.permitted:
            self.checker.permit(event)
        waiting: queue.SimpleQueue[Stream] = queue.SimpleQueue()
        for stream in self.plan.streams:
            waiting.put(stream)
        started = time.perf_counter()
        # Daemons, so that Ctrl-C ends the program instead of waiting for answers.
        threads = [
            threading.Thread(target=self._work, args=(waiting,), daemon=True) for _ in range(self.plan.connections)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started

    def _work(self, waiting: queue.SimpleQueue[Stream]) -> None:
        while True:
            try:
                stream = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._send(stream)
            except ClientError as error:
                self.troubles.append(f"{stream.user}: {error}")

    def _send(self, stream: Stream) -> None:
        connection = self.target.websocket(stream.user, *stream.scopes)
        sender = WebSocketSender(
            connection,
            self.checker,
            window=WINDOW_SINGLE if stream.single else WINDOW_BATCH,
            single=stream.single,
            on_accepted=self.prober.offer,
            on_answer=lambda count, _seconds: self.answered(count),
        )
        for event in stream.events:
            self.checker.attempt(event)
        try:
            connection.open()
            for events in stream.frames():
                sender.send(events)
            sender.finish()
        finally:
            connection.close()
