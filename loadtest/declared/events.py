"""Makes events of a declared stream from its model, and computes the expected answers to queries about them."""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from pydantic.alias_generators import to_camel

from headrace.core import times
from headrace.core.errors import ConfigurationError
from headrace.declare import Refused, Stream
from headrace.features.declared.folder import declarations
from headrace.features.declared.stream import ID_FIELD, TIME_FIELD, USER, Events
from localstage.client.errors import ClientError
from localstage.client.running_stage import ROOT
from localstage.template.functions import STREAMS

KEYS, USERS = 20, 500
SAMPLES = 1_000
"""Instances that are made of a model, because each takes up to a millisecond. Events have their values."""
TRIES = 1_000
"""Instances of which one must pass the stream's own check."""


def declaration_of(name: str) -> Stream:
    """The declared stream of that name, from the folder ``streams`` or the one that ``LOCALSTAGE_STREAMS`` names.

    Raises:
        ClientError: there is none, or a declaration is wrong.
    """
    folder = os.environ.get(STREAMS) or str(ROOT / "streams")
    try:
        known = {each.name: each for each in declarations(folder)}
    except ConfigurationError as error:
        raise ClientError(str(error)) from None
    if name not in known:
        allowed = ", ".join(["chat", "ski", "ads", *known])
        where = f"a file in {folder} declares another, as examples/streams/doors.py does"
        raise ClientError(
            f"STREAM: {name!r} is no stream; allowed: {allowed}; {where} ({STREAMS} names another folder)"
        )
    return known[name]


class Made(NamedTuple):
    """An event: what is ``sent``, and the ``item`` of a page without its key. Events sort as in pages, oldest first."""

    timestamp: str
    event_id: str
    sent: dict[str, Any]
    item: dict[str, Any]

    def event(self) -> dict[str, Any]:
        """The event as JSON, as it is sent."""
        return self.sent


class Maker:
    """Makes events of ``stream``, with the same values for the same ``name``. What a default says is not sent.

    Ids, keys and users contain ``name``, so answers have no events of other runs.
    """

    def __init__(self, stream: Stream, name: int) -> None:
        # Imported here because it takes a second.
        from polyfactory.factories.pydantic_factory import ModelFactory

        self._stream, self._name = stream, f"{name:x}"
        self._chance, self._numbers = random.Random(name), itertools.count()
        options: dict[str, Any] = {"__use_defaults__": False, "__random_seed__": name}
        factory: Any = ModelFactory.create_factory(Events(stream).model, **options)
        head = {TIME_FIELD: times.iso(0), ID_FIELD: "sample"}
        self._samples = [factory.build(**head) for _ in range(SAMPLES)]

    def make(self, at: int) -> Made:
        """A new event of the time ``at``, microseconds since the epoch.

        Raises:
            ClientError: the stream's own check refuses what is made.
        """
        stream, chance = self._stream, self._chance
        values = {"event_id": f"{self._name}-{next(self._numbers)}", "timestamp": times.iso(at)}
        values[stream.key] = f"{stream.key}-{self._name}-{chance.randrange(KEYS)}"
        if stream.user:  # ids of one length: none begins another
            values[stream.user] = f"user-{self._name}-{chance.randrange(USERS):03}"
        for _ in range(TRIES):
            sent = chance.choice(self._samples).model_copy(update=values)
            event = sent.model_copy(update=dict(stream.derive(sent))) if stream.derive else sent
            with suppress(Refused):
                if stream.check:
                    stream.check(event)
                item = event.model_dump(by_alias=True, exclude_none=True)
                as_sent = sent.model_dump(by_alias=True, exclude_defaults=True)
                return Made(item[TIME_FIELD], item[ID_FIELD], as_sent, item)
        raise ClientError(f"the check of {stream.name} refuses {TRIES} events that are made of its model")

    def invalid(self, at: int) -> list[dict[str, Any]]:
        """Events that are refused: each field has a wrong value in one of them, and one has an unknown field."""
        wrong = {to_camel(name): ["no", "value"] for name in self._stream.event.model_fields} | {"noSuchField": 1}
        return [self.make(at).sent | {name: value} for name, value in wrong.items()]


@dataclass(frozen=True)
class Totals:
    """The expected answers about ``events`` of ``stream``."""

    stream: Stream
    events: Sequence[Made]

    def by(self, field: str) -> dict[str, list[Made]]:
        """The events of each value of a declared field, newest first; none without a field."""
        found: dict[str, list[Made]] = defaultdict(list)
        for each in sorted(self.events, reverse=True) if field else ():
            found[each.item[to_camel(field)]].append(each)
        return found

    @property
    def window(self) -> dict[str, str]:
        """From the minute of the first event to the end of the minute of the last one."""
        seen = [_minute(each.timestamp) for each in self.events]
        return {"from": times.iso(min(seen)), "to": times.iso(max(seen) + times.MINUTE)}

    def whole(self) -> dict[str, Any]:
        """The totals of a window that has all events."""
        seen = [each.timestamp for each in self.events]
        found: dict[str, Any] = {"events": len(seen), "active": {"from": min(seen), "to": max(seen)}}
        found["top"] = {name: self.top(name) for name in map(to_camel, self.stream.counted)}
        found["sums"] = {name: self._sum(name) for name in map(to_camel, self.stream.sums)}
        return found | self._users(self.events) | ({"topUsers": self.top(USER)} if self.stream.user else {})

    def top(self, by: str) -> list[dict[str, Any]]:
        """The values of a field, or the users, by number of events, most first."""
        field = to_camel(self.stream.user) if by == USER else by
        counts = Counter(each.item[field] for each in self.events if each.item.get(field))
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        return [{by: value, "events": count} for value, count in ranked]

    def points(self, window: Mapping[str, str]) -> list[dict[str, Any]]:
        """A point for each minute of a window."""
        minutes: dict[int, list[Made]] = defaultdict(list)
        for each in self.events:
            minutes[_minute(each.timestamp)].append(each)
        starts = range(_minute(window["from"]), _minute(window["to"]), times.MINUTE)
        counts = ((start, minutes[start]) for start in starts)
        return [{"from": times.iso(start), "events": len(seen), **self._users(seen)} for start, seen in counts]

    def _users(self, events: Sequence[Made]) -> dict[str, int]:
        user = to_camel(self.stream.user)
        return {"uniqueUsers": len({each.item[user] for each in events})} if user else {}

    def _sum(self, field: str) -> dict[str, Any]:
        values = [Fraction(repr(each.item[field])) for each in self.events if field in each.item]
        if not values:
            return {"events": 0, "sum": 0, "mean": None, "min": None, "max": None}
        numbers = {"sum": sum(values), "min": min(values), "max": max(values)}
        mean = float(numbers["sum"]) / len(values)
        return {"events": len(values), "mean": mean, **{name: _number(value) for name, value in numbers.items()}}


def _number(value: Fraction | int) -> int | float:
    return int(value) if value == int(value) else float(value)


def _minute(timestamp: str) -> int:
    return times.micros_of(timestamp) // times.MINUTE * times.MINUTE
