"""Generates conversations in several rooms, with names in several scripts, unusual texts and long texts.

The result depends only on the seed and the run's name. A repeated run has the same events, ids and times, so sending it
again changes nothing.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from loadtest.chat.chat_texts import ODD, OPENERS, PLACES, REPLIES, ROOMS, STORY, TIMES, USERS
from loadtest.client.chat_events import ChatEvent, iso, uuid7

MESSAGES = 2_000
LONGEST = 4_096  # bytes of UTF-8: the platform's limit of one text
MEAN_PAUSE = 11.0  # seconds between two messages of one room
LONGEST_TALK = timedelta(hours=20)  # a client's own time may be at most 24 hours old


@dataclass(frozen=True)
class Conversation:
    """``events`` of all rooms in order of time; ids of ``rooms`` and ``users``."""

    run: str
    rooms: tuple[str, ...]
    users: tuple[str, ...]
    events: tuple[ChatEvent, ...]


def run_name(ends: datetime) -> str:
    """The name of a run that ends at ``ends`` (UTC, whole seconds); part of the room ids."""
    return f"{ends:%Y%m%d-%H%M%S}"


def run_end(run: str) -> datetime:
    """The inverse of :func:`run_name`.

    Raises:
        ValueError: it is not the name of a run.
    """
    return datetime.strptime(run, "%Y%m%d-%H%M%S").replace(tzinfo=UTC)


def generate(run: str, messages: int = MESSAGES, users: int = len(USERS), seed: int = 1) -> Conversation:
    """Generate ``messages`` messages of up to 24 ``users`` that end at the time in ``run``."""
    rng = random.Random(f"{seed}:{run}")
    people = USERS[: max(2, min(users, len(USERS)))]
    rooms = {f"{name}-{run}": things for name, things in ROOMS.items()}
    members = {room: _members(people, index, len(rooms)) for index, room in enumerate(rooms)}
    talk = _Talk(rng)
    names = list(rooms)
    events = []
    for moment in _moments(rng, run_end(run), messages, len(rooms)):
        room = rng.choices(names, weights=range(len(names), 0, -1))[0]
        user, text = talk.say(room, members[room], rooms[room])
        events.append(ChatEvent(room, uuid7(moment, rng.getrandbits(74)), iso(moment), user, text))
    return Conversation(run, tuple(names), people, tuple(events))


class _Talk:
    """Chooses the next user and text of a room: an opener starts a topic, replies follow, and sometimes a story."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._last: dict[str, str] = {}
        self._topic: dict[str, str] = {}
        self._left: dict[str, int] = {}
        self._recent: deque[str] = deque(maxlen=12)

    def say(self, room: str, members: tuple[str, ...], things: tuple[str, ...]) -> tuple[str, str]:
        """The next user and text in ``room``."""
        rng = self._rng
        previous = self._last.get(room)
        user = rng.choice([member for member in members if member != previous])
        self._last[room] = user
        left = self._left.get(room, 0)
        if left == 0:
            self._topic[room] = rng.choice(things)
        self._left[room] = left - 1 if left else rng.randint(3, 9)
        words = {
            "thing": self._topic[room],
            "thing2": rng.choice([thing for thing in things if thing != self._topic[room]]),
            "other": previous or rng.choice([member for member in members if member != user]),
            "place": rng.choice(PLACES),
            "time": rng.choice(TIMES),
        }
        return user, self._text(opening=left == 0, words=words)

    def _text(self, *, opening: bool, words: dict[str, str]) -> str:
        rng = self._rng
        chance = rng.random()
        if chance < 0.02:
            return ODD[rng.randrange(len(ODD))].replace("{other}", words["other"])
        if chance < 0.025:
            return _story(rng, words)
        said = rng.choice([text for text in (OPENERS if opening else REPLIES) if text not in self._recent])
        if not opening:
            self._recent.append(said)
        return said.format(**words)


def _story(rng: random.Random, words: dict[str, str]) -> str:
    """A long text; one in four has exactly the maximum length in bytes."""
    parts = [part.format(**words) for part in STORY]
    if rng.random() >= 0.25:
        return "".join(parts).rstrip()
    text = ("".join(parts) * 12).encode()[:LONGEST].decode(errors="ignore")
    return text + "." * (LONGEST - len(text.encode()))


def _members(people: tuple[str, ...], index: int, rooms: int) -> tuple[str, ...]:
    """Each user has a home room; every third is also in the next room."""
    return tuple(
        person
        for place, person in enumerate(people)
        if place % rooms == index or (place % 3 == 0 and (place + 1) % rooms == index) or len(people) < 2 * rooms
    )


def _moments(rng: random.Random, end: datetime, count: int, rooms: int) -> list[datetime]:
    """``count`` distinct times in order, all before ``end``."""
    span = min(timedelta(seconds=MEAN_PAUSE * count / rooms), LONGEST_TALK)
    micros = span // timedelta(microseconds=1)
    offsets = sorted(rng.sample(range(1, micros + 1), count))
    return [end - timedelta(microseconds=micros - offset + 1) for offset in offsets]
