"""P14: what others are told of each stream: one event for each change that people know, with what they may see."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from headrace.core.items import Item
from headrace.core.stream import Stream, TableSettings, Told
from headrace.core.times import SECOND
from headrace.features.ads.accepting import TAKEN_BACK_CLICKS
from headrace.features.ads.stream import ADS
from headrace.features.ads.stream import tell as tell_of_clicks
from headrace.features.ski.accepting import TAKEN_BACK_RIDES
from headrace.features.ski.stream import SKI
from headrace.features.ski.stream import tell as tell_of_rides
from headrace.features.tell.told import STORED, tells
from headrace.stage.chosen import FEATURES
from headrace.stage.registry import STREAMS
from headrace.streams.chat.message_row import ERASED
from headrace.streams.chat.room_shards import stored
from tests.unit.template_stack import TemplateStack
from tests.worlds.change_world import ChangeWorld
from tests.worlds.senders import CHAT, TABLE, sender
from tests.worlds.ski_world import ride

CLICK = {"adId": "ad-1", "userId": "alice", "adType": "banner", "clickedAt": "2025-11-21T10:00:00Z", "clickId": "c-1"}

TELL = tells()["chat"]


class Messages(ChangeWorld):
    """Stores messages and changes, and remembers what is told of the row of each message."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Told] = []

    def store_and_tell(self, *events: dict[str, Any]) -> list[str]:
        """The types of what is told of these events, which are stored one after the other."""
        begin = len(self.told)
        self.clock.advance(1)
        for event in events:
            rows = self.write_path.store.tables[TABLE.table]
            before = {key: json.loads(json.dumps(row)) for key, row in rows.items()}
            for _ in self.storing([event]):
                for key, row in rows.items():
                    if before.get(key) != row and (told := TELL(before.get(key), row)):
                        self.told.append(told)
                before = {key: json.loads(json.dumps(row)) for key, row in rows.items()}
        return [each.type for each in self.told[begin:]]


def test_a_message_and_its_changes_are_told_as_readers_see_them() -> None:
    world = Messages()
    message = world.message("alice", "hello")

    assert world.store_and_tell(message) == ["message.stored"]
    assert world.store_and_tell(world.change("alice", message, "moin").event) == ["message.edited"]
    assert world.store_and_tell(world.reaction("bob", message, "👍").event) == ["message.reactions"]
    assert world.store_and_tell(world.reaction("bob", message).event) == ["message.reactions"]
    assert world.store_and_tell(world.change("alice", message).event) == ["message.deleted"]

    key = world.key(message)
    assert {each.key for each in world.told} == {f"kitchen#{key}"}
    stored, edited, reacted, taken_back, deleted = [each.data for each in world.told]
    assert stored == {
        "key": key,
        "roomId": "kitchen",
        "messageId": "m-1",
        "timestamp": message["timestamp"],
        "userId": "alice",
        "username": message["username"],
        "message": "hello",
        "messageType": "TEXT",
    }
    assert (edited["message"], "editedAt" in edited) == ("moin", True)
    assert (reacted["reactions"], "reactions" in taken_back) == ({"👍": 1}, False)
    assert (deleted["message"], deleted["deletedBy"]) == ("", "alice")
    assert "hello" not in str(deleted)


@pytest.mark.parametrize("age", [0, 60])
def test_an_event_that_is_stored_again_is_not_told_again(age: int) -> None:
    world = Messages()
    message = world.message("alice", "hello", age=age)
    edit = world.change("alice", message, "moin").event
    world.store_and_tell(message, edit)

    assert world.store_and_tell(message, edit, message) == []


def test_a_message_that_was_deleted_before_it_was_stored_is_told_without_its_text() -> None:
    world = Messages()
    message = world.message("alice", "hello", age=60)

    assert world.store_and_tell(world.change("alice", message).event, message) == ["message.deleted"]
    assert "hello" not in str(world.told)


def test_when_a_row_expires_or_was_stored_is_not_told() -> None:
    row = CHAT.item(Messages().message("alice", "hello"), 0, TABLE)

    assert TELL(row, {**row, "expiresAt": 1, "storedAt": "2025-11-21T10:00:00.000000Z"}) is None


@pytest.mark.parametrize("partition", ["#changes#kitchen", "#reactions#kitchen#key", "#probe#persist.chat.0", "hall"])
def test_rows_that_are_no_messages_are_not_told(partition: str) -> None:
    assert TELL(None, {"roomId": partition, "timestampSk": "key"}) is None


def test_a_message_in_a_shard_is_told_with_the_id_of_its_room() -> None:
    world = Messages()
    row = {**CHAT.item(world.message("alice", "hello"), world.clock.now(), TABLE), "roomId": "stadium~8"}

    assert TELL(None, stored(row)) == TELL(None, row)
    assert stored(row) != row


def rows(stream: Stream, back: Stream, raw: dict[str, Any]) -> tuple[Item, Item]:
    """The row of an event, and of what takes it back."""
    table = TableSettings(table="T", retention_days=30)
    accepted = [each.accept(raw, sender("alice", trusted=True)).event for each in (stream, back)]
    stored, taken_back = [stream.item(event, 1763719259 * SECOND, table) for event in accepted]
    return stored, taken_back


def test_a_ride_and_its_taking_back_have_one_key_and_the_same_fields() -> None:
    stored, taken_back = rows(SKI, TAKEN_BACK_RIDES, ride(rideID="r-1"))
    one, other = tell_of_rides(None, stored), tell_of_rides(None, taken_back)

    assert one is not None
    assert other is not None
    assert (one.type, other.type) == ("ride.stored", "ride.taken-back")
    assert one.key == other.key == f"1001#{stored['rideSk']}"
    assert one.data == other.data == ride(rideID="r-1")
    assert tell_of_rides(stored, {**stored, "expiresAt": 1}) is None


def test_a_click_that_is_taken_back_is_told_by_its_key_alone() -> None:
    stored, stub = rows(ADS, TAKEN_BACK_CLICKS, CLICK)
    one, other = tell_of_clicks(None, stored), tell_of_clicks(stored, stub)

    assert one is not None
    assert other is not None
    assert one.key == other.key == f"c-1#{stored['sender']}"
    assert (one.type, other.type) == ("click.stored", "click.taken-back")
    assert one.data == {**CLICK, "clickedAt": "2025-11-21T10:00:00.000000Z", "key": stored["timestampSk"]}
    assert other.data == {"clickId": "c-1"}
    assert tell_of_clicks({**stored, "addressHash": "h"}, stored) is None
    assert "addressHash" not in one.data


def test_an_erased_message_is_told_as_deleted_and_nothing_of_an_erased_skier_or_click() -> None:
    """P15."""
    row = CHAT.item(CHAT.accept({"roomId": "hall", "message": "hello"}, sender("ann")).event, 0, TABLE)
    erased = {**row, "userId": "erased-x", "username": "erased-x", "message": "", "changeKey": ERASED}
    told = TELL(row, erased | {"deletedAt": "2025-11-21T10:00:58.722861Z", "deletedBy": "erased-x"})
    assert told is not None
    assert (told.type, told.data["userId"], told.data["message"]) == ("message.deleted", "erased-x", "")

    ridden = SKI.item(SKI.accept(ride(), sender(trusted=True)).event, 0, TABLE)
    clicked = ADS.item(ADS.accept(CLICK, sender("alice")).event, 0, TABLE)
    assert tell_of_rides(None, {**ridden, "skierID": "erased-x"}) is None
    assert tell_of_clicks(clicked, {**clicked, "userId": "erased-x"}) is None


def test_streams_of_clients_are_told_and_the_template_knows_their_types(template_stack: TemplateStack) -> None:
    assert tells().keys() <= {name for name, stream in STREAMS.items() if stream.incoming}

    pattern = re.compile(template_stack.parameters["TellTypes"]["AllowedPattern"])
    names = [*tells(), STORED, *(each for feature in FEATURES for each in feature.tells)]
    assert [each for each in names if not pattern.fullmatch(each)] == []
    assert template_stack.parameters["TellTypes"]["Default"] == ",".join(tells())
    assert [each for each in ("Doors", "message.expired", "") if pattern.fullmatch(each)] == []
