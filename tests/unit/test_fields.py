"""A field of a built-in event is in its rows, in the indexes that pages come from, and in answers; and in no stub."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.core import times
from headrace.core.sender import SenderContext
from headrace.core.stream import Stream, TableSettings
from headrace.features.ads import routes, storing
from headrace.features.ads import stream as ads
from headrace.features.ski import answers
from headrace.features.ski import stream as ski
from headrace.stage.registry import STREAMS
from headrace.streams.chat import message_row
from headrace.streams.chat import stream as chat
from localstage.template.document import parse
from tests.unit.template_stack import TEMPLATE

TIME = "2025-11-21T10:00:00.000000Z"
NOW = times.parse_iso(TIME)
PRODUCER = SenderContext("gate", "gate", True, NOW, hash_address=lambda _: "a hash")
EXPIRES = "expiresAt"
TABLE = TableSettings(table="T", retention_days=9)
FILES = [{"id": "a" * 26, "name": "cat.png", "type": "image/png", "bytes": 9}]
TEXT = {"roomId": "r", "messageId": "m", "timestamp": TIME, "userId": "ann", "username": "Ann", "message": "hello"}
REPLY = {**TEXT, "messageType": "TEXT", "attachments": FILES, "replyTo": f"{TIME}#m#{'a' * 12}"}
NOTICE = {**TEXT, "messageType": "JOIN", "memberId": "bob", "memberName": "Bob"}
RIDE = {"resortID": 1, "seasonID": 2025, "dayID": 45, "skierID": 6, "time": 540, "liftID": 21, "rideID": "r"}
RIDE |= {"waitTime": 3}
CLICK = {"adId": "ad", "userId": "ann", "adType": "video", "clickedAt": TIME, "clickId": "c", "address": "203.0.113.7"}


@dataclass(frozen=True)
class Case:
    """Events that have all fields, what shows a row, answers, what these hide; what stubs lose, or keep on purpose."""

    sent: tuple[dict[str, Any], ...]
    shown: Callable[[dict[str, Any]], Mapping[str, Any]]
    answers: tuple[type, ...]
    hidden: Collection[str]
    stubs: Collection[str] | None = None


RIDES = (answers.RideItem, answers.DayLifts)
DELETED = {*message_row.GONE_WHEN_DELETED, *message_row.KEPT_WHEN_DELETED}
CASES = {
    "chat": Case((REPLY, NOTICE), chat.item_of, (chat.MessageItem,), chat.HIDDEN, DELETED),
    "ski": Case((RIDE,), lambda row: getattr(ski.tell(None, row), "data", {}), RIDES, ski.HIDDEN),
    "ads": Case((CLICK,), ads.item_of, (routes.Click,), ads.HIDDEN, storing.GONE),
}


def lost(stream: Stream, case: Case, indexes: dict[str, dict[str, Any]]) -> Iterator[str]:
    """What is missing, and where, in the order in which a field is added."""
    sent, row, item = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for each in case.sent:
        found = stream.item(stream.accept(each, PRODUCER).event, NOW, TABLE)
        sent, row, item = sent | each, row | found, item | case.shown(found)
    assert stream.incoming
    fields, counted = stream.incoming.model_json_schema()["properties"], stream.analytics_dimensions
    keys = [{each.partition_key, each.sort_key} for each in (stream, *stream.indexes)]
    yield from (f"{name} is in no event that this test sends" for name in fields if name not in sent)
    for name in sorted((sent.keys() | row.keys() - {EXPIRES}.union(*keys)) - item.keys() - {*case.hidden}):
        yield f"{name} is in no {'answer: item_of, HIDDEN' if name in row else 'row: stamped model, accept, item'}"
    for index, own in zip(stream.indexes, keys[1:], strict=True):
        needed = {counted.user, *counted.groups} if index.sharded and counted else row.keys() & item.keys()
        made = indexes[index.name]["Projection"]
        projected = row.keys() if made["ProjectionType"] == "ALL" else made.get("NonKeyAttributes", [])
        unseen = (needed | {EXPIRES}) - own - keys[0] - {*projected}
        yield from (f"{name} is not in {index.name}: template.yaml" for name in sorted(unseen))
    left = row.keys() - keys[0] - {EXPIRES, *(row if case.stubs is None else case.stubs)}
    yield from (f"{name} stays in a stub" for name in sorted(left))
    annotated = {name for each in case.answers for name in each.__annotations__}
    yield from (f"{name} is not in {case.answers[0].__name__}" for name in sorted(item.keys() - annotated))


@pytest.mark.parametrize("name", CASES)
def test_a_field_of_an_event_is_kept_wherever_the_event_is(name: str) -> None:
    resources = parse(TEMPLATE.read_text(), TEMPLATE)["Resources"]
    stream = STREAMS[name]
    table = resources["PersistEvents"]["Properties"]["Environment"]["Variables"][stream.table_setting]["Ref"]
    indexes = {each["IndexName"]: each for each in resources[table]["Properties"]["GlobalSecondaryIndexes"]}

    missing = "; ".join(lost(stream, CASES[name], indexes))
    assert not missing, missing
