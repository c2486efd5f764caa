"""The messages of one phase: their rooms and senders, and the checker that reads them back."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from loadtest.chat.analytics_check import check_analytics
from loadtest.chat.chat_generator import TEXTS
from loadtest.checker.checker import Checker, Item
from loadtest.checker.durability_probe import in_history
from loadtest.checker.findings import Findings
from loadtest.checker.readback import drain_and_read
from loadtest.client.chat_events import ChatEvent, post_messages
from loadtest.client.credentials import Sender
from loadtest.client.target import READER, Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.work import OPERATOR, Work
from loadtest.sending.queue_depths import Lanes
from loadtest.shapes.shape import Phase
from localstage.client.errors import ClientError, TokenRefused

REPLIES: list[str] = TEXTS["replies"]
JOINED, MAKER = "JOIN", "loadtest-maker"
RECENT = 1_000
"""How many of the last senders the questions ask for."""


class ChatWork(Work):
    """One worker's messages. Its rooms are its own, so that its checker knows every message in them.

    ``before`` is the phase before, if any. The last phase compares the analytics with the messages of all phases.
    """

    request = staticmethod(post_messages)

    def __init__(
        self, target: Target, phase: Phase, place: Place, measurements: Measurements, before: ChatWork | None
    ) -> None:
        reader = target.reader()
        super().__init__(target, phase, place, measurements, reader, in_history(reader))
        self.recorder = self.checker = Checker(self._measure, self._is_join)
        self.rooms = [
            f"load-{place.run}-{place.number}-{room:02d}{f'~{phase.shards}' if phase.shards else ''}"
            for room in range(max(phase.rooms, place.workers))
            if room % place.workers == place.worker
        ]
        if phase.shards:
            with closing(target.joiner(MAKER)) as api:
                for each in self.rooms:
                    api.change("PUT", f"/rooms/{each}", {"kind": "open"})
        self.counted: dict[str, int] = dict(before.counted) if before is not None else {}
        """The messages that the analytics must count, by room."""
        self.began: float = before.began if before is not None else time.time()
        self.joined: set[str] = set()
        self._made = 0
        self._prefix = f"{place.worker:02d}-{random.getrandbits(40):010x}"
        self._recent: list[str] = []
        self._used: list[str] = []

    def _is_join(self, item: Item) -> bool:
        """Those who ask for conversations join, and are no senders of the run."""
        return item["messageType"] == JOINED and item["userId"] in self.joined

    def sender(self, number: int) -> Sender:
        """Who sends as user ``number``: another sender for each.

        Raises:
            TokenRefused: there is no token for this user.
        """
        return self._target.sender(number, trusted=bool(self.phase.people))

    def make(self, sender: Sender, number: int, count: int) -> list[ChatEvent]:
        """``count`` new messages of user ``number`` with the current time, a microsecond apart."""
        seconds, micros = divmod(time.time_ns() // 1000, 1_000_000)
        micros = min(micros, 999_999 - count)
        prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        first, self._made = self._made, self._made + count
        return [
            self._message(sender, number, first + index, f"{prefix}.{micros + index:06d}Z") for index in range(count)
        ]

    def _message(self, sender: Sender, number: int, index: int, timestamp: str) -> ChatEvent:
        user, name, kind, room = sender.user_id, None, "TEXT", self.rooms[number % len(self.rooms)]
        if sender.trusted:
            people = self.phase.people
            user = name = f"user-{random.randrange(people) + 1}" if people else f"load-{number:03d}"
            dice = random.random()
            kind = "JOIN" if dice < self.phase.joins else "LEAVE" if dice > 1 - self.phase.leaves else "TEXT"
        if self.phase.people:
            room = random.choice(self.rooms)
        text = REPLIES[index % len(REPLIES)]
        return ChatEvent(room, f"{self._prefix}-{index}", timestamp, user, text, name, kind)

    def _measure(self, events: Sequence[ChatEvent], first_sent: float) -> None:
        super()._measure(events, first_sent)
        self._used += {event.room_id for event in events}.difference(self._used)
        self._recent.append(events[-1].user_id)
        del self._recent[:-RECENT]

    def room(self) -> str:
        """A room to ask for: one with a message, as soon as there is one."""
        return random.choice(self._used or self.rooms)

    def person(self) -> str:
        """A user who sent lately, to ask for."""
        return random.choice(self._recent or ["user-1"])

    def sent(self) -> dict[str, Any]:
        """What was sent so far."""
        verdict = self.checker.verdict()
        return self.checker.counts(verdict.attempted, verdict.accepted, verdict.refused)

    def read_back(self) -> Findings:
        """Wait until every accepted message is readable, and read all rooms."""
        if not self.phase.writes:
            return Findings(at=time.monotonic())
        with closing(Lanes(self._target.operator(OPERATOR))) as lanes:
            at = drain_and_read(self.checker, self._reader, waiting=lanes.waiting)
            found, rooms = self.checker.verdict(), self.checker.found_by_room()
            found.waiting = lanes.waiting_of(found.lost)
        self._probe.finish()
        self.counted |= {room: count + len(self.checker.ids_left_out[room]) for room, count in rooms.items()}
        found.lost -= found.waiting
        found.at = at
        found.wrong, unchecked = self._check_analytics() if self._last else ([], [])
        examples = {"not stored" if kind == "lost" else kind: names for kind, names in found.examples.items()}
        examples |= {"wrong": found.wrong, "not checked": unchecked}
        found.examples = {kind: names for kind, names in examples.items() if names}
        return found

    def _check_analytics(self) -> tuple[list[str], list[str]]:
        """What the analytics count wrongly, and why they could not be asked."""
        verdict = self.checker.verdict()
        if not self.counted:
            return [], []
        if verdict.unanswered or not verdict.kept:
            return [], ["analytics: not every message was answered and stored"]
        found = Findings()
        try:
            with closing(self._target.http(READER, "analytics:read", timeout=60.0)) as api:
                pages = {room: self._reader.walk_room(room) for room in self.checker.rooms()[:1]}
                said = {room: Counter(item["userId"] for page in of for item in page) for room, of in pages.items()}
                check_analytics(api, found, self.began, self.counted, said)
        except TokenRefused as error:
            return found.wrong, [f"analytics: {error}"]
        except ClientError as error:
            return [*found.wrong, f"analytics: {error}"], []
        return found.wrong, []
