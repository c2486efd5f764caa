"""Rights to write, checked once per request: a small gate that the write path asks about what it is about to publish.

The platform accepts events while DynamoDB is away, and nobody writes into a ``members`` room they are not in. Both hold
because a right that cannot be checked now is marked on the event (``uncheckedAt``: when it was accepted), and
checked before the event is stored (``store/checked.py``), against the membership at that time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.access import not_in_room, was_said_outside
from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, Forbidden, StoreThrottled, StoreUnavailable
from headrace.core.intervals import Interval
from headrace.core.stream import ValidatedEvent
from headrace.memberships import Memberships
from headrace.rooms import GROUP, MEMBERS, OPEN, RememberedRooms, Room
from headrace.runtime.observability import report
from headrace.streams.chat import UNCHECKED

AWAY_SECONDS = 5.0
"""How long the tables are not asked after they did not answer."""

CHECK_SECONDS = 0.5
"""After so long no further question is asked in a request; what is left is checked before it is stored."""


Stays = tuple[Interval, ...]

EVERYBODYS: Stays = (Interval("", None),)
"""The right to a room that is open: as if one had always been in it."""


class RoomGate:
    """Lets into open rooms everybody, into ``members`` rooms who is in them, and creates a room by its first message.

    Rooms that are remembered as open cost a look into a dict; each other room one consistent read per request.
    """

    def __init__(
        self, rooms: RememberedRooms, memberships: Memberships, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._rooms = rooms
        self._memberships = memberships
        self._monotonic = monotonic
        self._away_until = 0.0

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[Forbidden | None]:
        """Why each event is refused, in order."""
        trusted = caller.has(EVENTS_WRITE)
        asked = [each for each in dict.fromkeys(event.event["roomId"] for event in events) if self._asks(each, trusted)]
        if not asked:
            return [None] * len(events)
        at = times.iso(now)
        rights = self._rights(caller, asked, trusted, at)
        outcomes: list[Forbidden | None] = []
        for each in events:
            room_id = each.event["roomId"]
            stays = rights.get(room_id, EVERYBODYS)
            if stays is None:
                each.event[UNCHECKED] = at
            outcomes.append(None if stays is None or stays is EVERYBODYS else refusal(stays, each.event))
        return outcomes

    def _asks(self, room_id: str, trusted: bool) -> bool:
        room = self._rooms.known(room_id)
        return room is None or (room.kind == MEMBERS and not trusted)

    def _rights(self, caller: Caller, room_ids: Sequence[str], trusted: bool, at: str) -> dict[str, Stays | None]:
        """When ``caller`` was in each room, or ``EVERYBODYS``; ``None``: it cannot be told now."""
        # A trusted sender may write anywhere; its rooms are asked for only to create those that are missing.
        rights: dict[str, Stays | None] = dict.fromkeys(room_ids, EVERYBODYS if trusted else None)
        deadline = self._monotonic() + CHECK_SECONDS
        if self._monotonic() < self._away_until:
            return rights
        try:
            members = []
            for room_id, found in self._rooms.get_many(room_ids).items():
                room = found
                if room is None and self._monotonic() < deadline:
                    room = self._rooms.create(Room(room_id, OPEN, GROUP, at, caller.subject))
                if room is not None and room.kind == OPEN:
                    rights[room_id] = EVERYBODYS
                elif room is not None and not trusted:
                    members.append((caller.subject, room_id))
            if members and self._monotonic() < deadline:
                for (_, room_id), membership in self._memberships.get_many(members).items():
                    rights[room_id] = membership.intervals
        except StoreUnavailable as error:
            if not isinstance(error, StoreThrottled):
                self._away_until = self._monotonic() + AWAY_SECONDS
            report(type(error).__name__, f"rights are checked before storing: {error.message}")
        return rights


def refusal(stays: Stays, event: Mapping[str, Any]) -> Forbidden | None:
    """Why an event may not be written now by whose ``stays`` in its room these are."""
    if not stays or stays[-1].left_at is not None:
        return not_in_room(event["roomId"])
    if was_said_outside(stays, event["timestamp"]):
        allowed = "a time at which you were in this room"
        detail = FieldError("timestamp", "is of a time at which you were not in this room", event["timestamp"], allowed)
        return Forbidden("timestamp is of a time at which you were not in this room", details=[detail])
    return None
