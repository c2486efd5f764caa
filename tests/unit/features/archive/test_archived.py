"""P16: every row of a stage has one place in the archive, for all that happens to it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.items import Item
from headrace.features.ads.accepting import TAKEN_BACK_CLICKS
from headrace.features.ads.stream import ADS
from headrace.features.archive.archiver import archived as archived_tables
from headrace.features.ski.accepting import TAKEN_BACK_RIDES
from headrace.features.ski.stream import SKI
from ops.replay import TABLES
from tests.unit.template_stack import TemplateStack
from tests.worlds.message_changes import CHANGES
from tests.worlds.senders import CHAT, TABLE, sender
from tests.worlds.ski_world import ride

AT = "2025-11-19T10:00:00.000000Z"
KEY = f"{AT}#m-1#fpmansl7byak"
CLICK = {"adId": "ad-1", "userId": "alice", "adType": "banner", "clickedAt": AT, "clickId": "c-1"}


def row(stream: Any, raw: dict[str, Any]) -> Item:
    return stream.item(stream.accept(raw, sender("alice", trusted=True)).event, 0, TABLE)  # type: ignore[no-any-return]


def change(**more: Any) -> Item:
    return row(CHANGES, {"roomId": "kitchen", "key": KEY, "timestamp": "2025-11-21T09:00:00Z", **more})


MESSAGE = row(CHAT, {"roomId": "kitchen", "messageId": "m-1", "message": "hello", "timestamp": AT})


@pytest.mark.parametrize(
    ("table", "archived", "folder"),
    [
        ("messages", MESSAGE, "chat/2025-11-19/10/"),
        ("messages", {**MESSAGE, "message": "", "deletedAt": "2025-11-23T12:00:00.000000Z"}, "chat/2025-11-19/10/"),
        ("messages", change(change="edit", message="moin"), "chat/2025-11-19/10/"),
        ("messages", change(change="delete"), "chat/2025-11-19/10/"),
        ("messages", change(change="react", value="👍"), "chat/2025-11-19/10/"),
        ("messages", {"roomId": "#changes#kitchen", "timestampSk": "#"}, "chat/messages/"),
        ("rooms", {"roomId": "kitchen"}, "chat/rooms/"),
        ("memberships", {"userId": "alice", "roomId": "kitchen"}, "chat/memberships/"),
        ("rides", row(SKI, ride(seasonID=2025, dayID=45, time=217)), "ski/2025-02-14/03/"),
        ("rides", row(TAKEN_BACK_RIDES, ride(seasonID=2025, dayID=45, time=217)), "ski/2025-02-14/03/"),
        ("rides", row(SKI, ride(seasonID=2199, dayID=366, time=1439)), "ski/2200-01-01/23/"),
        ("resorts", {"resortID": "7"}, "ski/resorts/"),
        ("clicks", row(ADS, CLICK), "ads/2025-11-19/10/"),
        ("clicks", {**row(TAKEN_BACK_CLICKS, CLICK), "takenFrom": f"{AT}#c-1#fpmansl7byak"}, "ads/2025-11-19/10/"),
        ("clicks", {**row(TAKEN_BACK_CLICKS, CLICK), "takenFrom": ""}, "ads/clicks/"),
    ],
)
def test_a_row_and_all_its_changes_are_in_the_folder_of_its_event(table: str, archived: Item, folder: str) -> None:
    (found,) = (each for each in archived_tables().values() if each.name == table)

    assert found.folder(archived) == folder


def test_every_table_with_a_stream_is_archived_and_can_be_replayed(template_stack: TemplateStack) -> None:
    tables = template_stack.of_type("AWS::DynamoDB::Table")
    streamed = {name: each["KeySchema"] for name, each in tables.items() if "StreamSpecification" in each}
    keys = {name: frozenset(one["AttributeName"] for one in schema) for name, schema in streamed.items()}

    assert set(keys.values()) == archived_tables().keys()
    for name, schema in streamed.items():
        variable, key = TABLES[archived_tables()[keys[name]].name]
        assert key == schema[0]["AttributeName"]
        assert template_stack.value_of("EraseUsers", variable) == {"Ref": name}
