"""Generates conversations in several rooms, with names in several scripts, unusual texts and long texts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from headrace.streams.chat.message_row import TEXT_BYTES
from headrace_client.sending import uuid7
from loadtest.client.chat_events import ChatEvent, iso

TEXTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))
MESSAGES = 2_000
MEAN_PAUSE = 11.0  # seconds between two messages of one room
LONGEST_TALK = timedelta(hours=20)  # a client's own time may be at most 24 hours old
ODD_ONES, STORIES, OPENINGS = 0.02, 0.005, 0.15
"""The shares of unusual texts, long texts and openings of a topic."""


@dataclass(frozen=True)
class Conversation:
    """``events`` of all rooms in order of time. ``run`` is the end of the names of its rooms."""

    run: str
    users: tuple[str, ...]
    events: tuple[ChatEvent, ...]


def generate(messages: int = MESSAGES) -> Conversation:
    """Generate ``messages`` messages that end now, in rooms of their own."""
    ends = datetime.now(UTC).replace(microsecond=0)
    run = f"{ends:%Y%m%d-%H%M%S}"
    rng = random.Random(run)
    rooms, users = TEXTS["rooms"], TEXTS["users"]
    names = list(rooms)
    events = []
    for moment in _moments(rng, ends, messages):
        name = rng.choices(names, weights=range(len(names), 0, -1))[0]
        user, other = rng.sample(users, 2)
        thing, thing2 = rng.sample(rooms[name], 2)
        words = {"thing": thing, "thing2": thing2, "other": other}
        words |= {"place": rng.choice(TEXTS["places"]), "time": rng.choice(TEXTS["times"])}
        message_id = uuid7(moment, rng.getrandbits(74))
        events.append(ChatEvent(f"{name}-{run}", message_id, iso(moment), user, _text(rng, words)))
    return Conversation(run, tuple(users), tuple(events))


def _text(rng: random.Random, words: dict[str, str]) -> str:
    chance = rng.random()
    if chance < ODD_ONES:
        return str(rng.choice(TEXTS["odd"])).replace("{other}", words["other"])
    if chance < ODD_ONES + STORIES:
        return _story(rng, words)
    return str(rng.choice(TEXTS["openers" if chance > 1 - OPENINGS else "replies"])).format(**words)


def _story(rng: random.Random, words: dict[str, str]) -> str:
    """A long text; one in four has exactly the maximum length in bytes."""
    story = "".join(part.format(**words) for part in TEXTS["story"])
    if rng.random() >= 0.25:
        return story.rstrip()
    text = (story * 12).encode()[:TEXT_BYTES].decode(errors="ignore")
    return text + "." * (TEXT_BYTES - len(text.encode()))


def _moments(rng: random.Random, end: datetime, count: int) -> list[datetime]:
    """``count`` distinct times in order, all before ``end``."""
    span = min(timedelta(seconds=MEAN_PAUSE * count / len(TEXTS["rooms"])), LONGEST_TALK)
    micros = span // timedelta(microseconds=1)
    offsets = sorted(rng.sample(range(1, micros + 1), count))
    return [end - timedelta(microseconds=micros - offset + 1) for offset in offsets]
