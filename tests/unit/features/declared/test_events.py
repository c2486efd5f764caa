"""What is accepted of a declared event, and the row that it becomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest

from headrace.core import times
from headrace.core.envelope import Envelope
from headrace.core.errors import InvalidEvent, PoisonRecord
from headrace.core.sender import SenderContext
from headrace.core.stream import TableSettings
from headrace.declare import Event, Field, Id, Refused, Secret, Stream, User
from headrace.delivery.records import rows_of
from headrace.features.archive.archiver import archived
from headrace.features.declared.people import WITHHELD, screens
from headrace.features.declared.stream import Events

NOW = times.parse_iso("2026-01-02T03:04:05Z")
TIME = times.iso(NOW)
TABLE = TableSettings(table="Declared", retention_days=90)
PRODUCER = SenderContext("gate", "gate", True, NOW)
ALICE = SenderContext("alice", "alice", False, NOW)


class Opening(Event):
    """An opening of a door."""

    door: Id
    badge: User
    method: Literal["card", "code"] = "card"
    held_ms: int = Field(default=0, ge=0, le=1000)
    weight: float | None = None
    is_forced: bool = False
    note: str = ""
    pin: Secret | None = None
    seconds: Annotated[int, Field(ge=0)] = 0


def check(event: Opening) -> None:
    if event.is_forced and event.method == "code":
        raise Refused("is_forced", "goes with a card only", got=True, allowed="false with a code")


def derive(event: Opening) -> Mapping[str, Any]:
    return {"seconds": event.held_ms // 1000}


DOORS = Events(Stream("doors", Opening, key="door", senders="users", check=check, derive=derive))


def sent(**fields: Any) -> dict[str, Any]:
    return {"door": "front", "badge": "alice", "eventId": "o-1", "timestamp": TIME, **fields}


def row(event: dict[str, Any], sender: SenderContext = PRODUCER) -> dict[str, Any]:
    """The row of an event that a client sent, after its way through the queue."""
    stamped = json.loads(json.dumps(DOORS.accept(event, sender).event))
    return DOORS.item(stamped, NOW, TABLE)


def test_readers_see_an_event_as_it_was_sent_and_its_defaults() -> None:
    event = sent(heldMs=1000, weight=70.5, note="late", pin="1234", isForced=True)

    found = row(event)

    assert (found["weight"], found["secretFields"]) == (Decimal("70.5"), ["pin"])
    shown = DOORS.item_of(found)
    assert shown == {"key": found["timestampSk"], **event, "method": "card", "seconds": 1}
    assert list(shown)[:5] == ["key", "eventId", "timestamp", "door", "badge"]


def test_a_row_is_shown_whatever_the_declaration_has_become() -> None:
    class Later(Event):
        """Without a method, and with another name of the user."""

        door: Id
        person: User
        floor: int = 0

    shown = Events(Stream("doors", Later, key="door")).item_of(row(sent()))

    assert (shown["person"], shown["method"], "floor" in shown, "badge" in shown) == ("alice", "card", False, False)


@pytest.mark.parametrize(
    ("fields", "field", "allowed"),
    [
        ({"door": "a/b"}, "door", "1 to 128 characters"),
        ({"door": None}, "door", "1 to 128 characters"),
        ({"method": "foot"}, "method", "one of card, code"),
        ({"heldMs": 1001}, "heldMs", "a whole number from 0 to 1000"),
        ({"heldMs": "1"}, "heldMs", "a whole number from 0 to 1000"),
        ({"held_ms": 1}, "held_ms", "door, badge, method, heldMs"),
        ({"weight": 1e300}, "weight", "0, or 1e-100 to 1e100 in size"),
        ({"weight": float("inf")}, "weight", "0, or 1e-100 to 1e100 in size"),
        ({"seconds": 2**60}, "seconds", "at most 9007199254740991 in size"),
        ({"isForced": "no"}, "isForced", "true or false"),
        ({"note": "x" * 1001}, "note", "a text of 0 to 1000 characters"),
        ({"note": "\ud800"}, "note", "a text of 0 to 1000 characters"),
        ({"isForced": True, "method": "code"}, "isForced", "false with a code"),
        ({"timestamp": "soon"}, "timestamp", "ISO-8601"),
        ({"timestamp": None}, "timestamp", "the time of the event"),
        ({"badge": None}, "badge", "who did it"),
    ],
)
def test_a_refused_event_names_the_field_and_what_is_allowed(fields: dict[str, Any], field: str, allowed: str) -> None:
    with pytest.raises(InvalidEvent) as refused:
        DOORS.accept(sent(**fields), PRODUCER)

    assert (refused.value.details[0].field, allowed in str(refused.value.details[0].allowed)) == (field, True)


def test_a_user_sends_only_events_of_their_own() -> None:
    assert DOORS.accept(sent(badge="alice"), ALICE).event["userId"] == "alice"
    assert DOORS.accept({"door": "front"}, ALICE).event["userId"] == "alice"

    with pytest.raises(InvalidEvent, match="badge is not the token's"):
        DOORS.accept(sent(badge="bob"), ALICE)


def test_an_event_with_a_time_and_no_id_is_the_same_when_it_is_sent_again() -> None:
    """P3."""
    event = {"door": "front", "badge": "alice", "timestamp": TIME}

    class Later(Opening):
        """With one field more, which has a default."""

        floor: int = 0

    later = Events(Stream("doors", Later, key="door"))
    assert DOORS.accept(event, PRODUCER).key == later.accept(dict(event), PRODUCER).key
    assert DOORS.accept(event, PRODUCER).key != DOORS.accept({**event, "note": "again"}, PRODUCER).key
    assert DOORS.accept({"door": "a"}, ALICE).key != DOORS.accept({"door": "a"}, ALICE).key


def test_a_secret_is_withheld_from_operators_also_without_a_declaration() -> None:
    event = DOORS.accept(sent(pin="1234", note="late"), PRODUCER).event

    ((_, hidden),) = screens()["unknown"]([event]).items()

    assert "1234" not in json.dumps(hidden.event)
    assert (hidden.event["secrets"], hidden.event["fields"]["note"]) == (WITHHELD, "late")
    assert screens()["unknown"]([{"secrets": {}}, 1, None]) == {}


def test_an_event_whose_stream_is_declared_no_more_waits_as_a_dead_letter() -> None:
    body = Envelope("doors", "c", TIME, [DOORS.accept(sent(), PRODUCER).event]).encode()

    with pytest.raises(PoisonRecord) as poison:
        rows_of(body, {})

    assert poison.value.reason == "unknown_stream"


@pytest.mark.parametrize(
    "damage",
    [
        {"fields": {"a b": 1}},
        {"fields": {"note": [1]}},
        {"fields": None},
        {"sender": "x"},
        {"key": "a#b"},
        {"eventId": ""},
    ],
)
def test_a_record_from_elsewhere_is_no_row(damage: dict[str, Any]) -> None:
    with pytest.raises(PoisonRecord):
        DOORS.item({**DOORS.accept(sent(), PRODUCER).event, **damage}, NOW, TABLE)


def test_a_record_cannot_set_what_the_platform_keeps() -> None:
    event = DOORS.accept(sent(), PRODUCER).event
    event["fields"] |= {"streamKey": "ads#x", "expiresAt": 1, "userId": "bob"}

    found = DOORS.item(event, NOW, TABLE)

    assert (found["streamKey"], found["userId"], found["expiresAt"] > NOW // times.SECOND) == (
        "doors#front",
        "alice",
        True,
    )


def test_others_are_told_of_a_stored_event_without_its_secrets() -> None:
    """P14."""
    found = row(sent(pin="1234", note="late"))

    told = DOORS.tell(None, found)

    assert told is not None
    assert (told.type, told.key) == ("doors.stored", f"doors#front#{found['timestampSk']}")
    assert (told.data["note"], "pin" in told.data) == ("late", False)
    assert DOORS.tell(found, {**found, "userId": "erased-x"}) is None
    assert DOORS.tell(None, {**found, "streamKey": "gates#front"}) is None


def test_an_event_is_archived_under_its_stream_also_without_a_declaration() -> None:
    found = archived()[frozenset(("streamKey", "timestampSk"))]

    assert found.folder({**row(sent()), "streamKey": "gates#front"}) == "gates/2026-01-02/03/"
