"""P15, P18: What comes late of an erased person is dropped, and nothing of anybody else."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial
from typing import Any

import pytest

from headrace.core.envelope import Envelope
from headrace.core.errors import SecretsUnavailable, StoreUnavailable
from headrace.core.stream import Stream
from headrace.core.times import DAY, MINUTE, SECOND, iso
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import ErasureScreen, RowWriter
from headrace.features.ads.stream import ADS
from headrace.features.people.erasures import find_erased
from headrace.features.people.hashes import ROOM, SKIER, USER, Person, PersonHashes, people_of
from headrace.features.ski.stream import SKI
from headrace.stage.registry import STREAMS
from tests.worlds.message_changes import CHANGES
from tests.worlds.senders import CHAT, CLOCK, TABLE, message, sender
from tests.worlds.write_path import WritePath

HASHES = PersonHashes(lambda: "a secret")
NOW, OLD = CLOCK.now(), MINUTE


class Graves:
    """Tombstones in memory. ``down``: they cannot be read."""

    def __init__(self) -> None:
        self.erased: dict[str, str] = {}
        self.down = False
        self.asked = 0

    def bury(self, kind: str, id: str, at: int) -> None:
        self.erased[HASHES.key(Person(kind, id))] = iso(at)

    def erased_at(self, keys: Collection[str]) -> dict[str, str]:
        if self.down:
            raise StoreUnavailable("erasures cannot be reached")
        self.asked += 1
        return {key: at for key, at in self.erased.items() if key in keys}


class World(WritePath):
    def __init__(self, hashes: PersonHashes = HASHES) -> None:
        super().__init__()
        self.graves = Graves()
        tables = {"chat": TABLE, "ski": TABLE, "ads": TABLE, "probe": TABLE}
        screen = ErasureScreen(partial(find_erased, self.graves, hashes), CLOCK, 60)
        writer = RowWriter(self.store, tables, screen=screen)
        self.persister = Persister(writer, self.retry, CLOCK, sleep=self.waits.append)

    def stored(self) -> list[str]:
        return [row["message"] for row in self.rows()]


def record(*texts: str, user: str = "ann", accepted_at: int = NOW - OLD - 1, room: str = "lobby") -> bytes:
    events = [CHAT.accept(message(message=text, roomId=room), sender(user)).event for text in texts]
    return Envelope("chat", "r-1", iso(accepted_at), events).encode()


@pytest.mark.parametrize("accepted_at", [NOW - OLD + 1, NOW])
def test_a_young_event_is_stored_without_a_look(accepted_at: int) -> None:
    world = World()
    world.graves.bury(USER, "ann", NOW)

    world.persist(record("young", accepted_at=accepted_at))

    assert (world.stored(), world.graves.asked) == (["young"], 0)


def test_what_a_user_sends_after_the_erasure_is_stored() -> None:
    world = World()
    world.graves.bury(USER, "ann", NOW - 3 * OLD)

    world.persist(record("back again", accepted_at=NOW - 2 * OLD), record("before", accepted_at=NOW - 3 * OLD))

    assert world.stored() == ["back again"]


@pytest.mark.parametrize(("room", "held"), [("kitchen", 15 * DAY), ("direct:x", 10 * SECOND)])
def test_what_was_accepted_for_a_deleted_room_is_dropped_until_its_id_is_free(room: str, held: int) -> None:
    world, deleted = World(), NOW - 16 * DAY
    world.graves.bury(ROOM, room, deleted)
    accepted = {"before": deleted, "late": deleted + held, "free": deleted + held + 1}

    world.persist(*(record(text, accepted_at=at, room=room) for text, at in accepted.items()))

    assert world.stored() == ["free"]


def test_a_poison_event_of_an_erased_user_is_dropped_too() -> None:
    world = World()
    world.graves.bury(USER, "ann", NOW)
    envelope = json.loads(record("mine"))
    envelope["events"][0]["timestamp"] = "never"

    world.persist(json.dumps(envelope).encode())

    assert world.retried() == []


@pytest.mark.parametrize("fails", ["table", "secret"])
def test_late_events_wait_while_it_is_unknown_who_was_erased(fails: str) -> None:
    def unreadable() -> str:
        raise SecretsUnavailable("the secret could not be read: InternalServiceError")

    world = World(PersonHashes(unreadable) if fails == "secret" else HASHES)
    world.graves.down = True

    world.persist(record("late"), record("young", accepted_at=NOW))

    assert world.stored() == ["young"]
    assert [event["message"] for event in world.retried()] == ["late"]


RIDE = {"resortID": 7, "seasonID": 2025, "dayID": 3, "skierID": 42, "time": 60, "liftID": 4}
CLICK = {"adId": "ad-1", "adType": "banner", "clickedAt": iso(NOW)}
REACTION = {"roomId": "kitchen", "key": f"{iso(NOW)}#m-1#aaaaaaaaaaaa", "change": "react", "value": "+1"}
JOIN = {"roomId": "kitchen", "message": "", "messageType": "JOIN", "userId": "bob", "memberId": "ann"}


@pytest.mark.parametrize(
    ("stream", "event", "people"),
    [
        (CHAT, {"roomId": "kitchen", "message": "hello"}, {(USER, "ann"), (ROOM, "kitchen")}),
        (CHAT, JOIN, {(USER, "ann"), (USER, "bob"), (ROOM, "kitchen")}),
        (CHANGES, REACTION, {(USER, "ann"), (ROOM, "kitchen")}),
        (ADS, CLICK, {(USER, "ann")}),
        (SKI, RIDE, {(SKIER, "42")}),
    ],
)
def test_an_event_names_its_people(stream: Stream, event: dict[str, Any], people: set[tuple[str, str]]) -> None:
    event = {**event, "userId": "ann"} if stream is ADS else event
    accepted = stream.accept(event, sender("ann", trusted=stream is not CHANGES)).event

    assert people_of(STREAMS[stream.name], accepted) == {Person(*each) for each in people}


def test_hashes_differ_by_secret_kind_person_and_erasure() -> None:
    ann, skier = Person(USER, "42"), Person(SKIER, "42")
    other = PersonHashes(lambda: "another secret")
    found = [HASHES.key(ann), HASHES.key(skier), other.key(ann), HASHES.key(Person(USER, "43"))]
    found += [HASHES.pseudonym(ann, iso(NOW)), HASHES.pseudonym(ann, iso(NOW + 1)), HASHES.pseudonym(skier, iso(NOW))]

    assert len(set(found)) == len(found)
    assert HASHES.key(ann) == PersonHashes(lambda: "a secret").key(ann)
