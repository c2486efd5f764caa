"""Calls to DynamoDB with scripted responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.caller import Caller
from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.live.dynamodb import Connections
from headrace.runtime.aws import AwsClient, client
from headrace.storage.dynamodb.batch_writer import DynamoStore
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable, from_wire, to_wire
from headrace.storage.dynamodb.readers import DynamoColumns, DynamoReader
from headrace.storage.ports import Table
from headrace.storage.reading import Query, RangeQuery
from headrace.streams.chat.rooms.dynamodb import Memberships, RoomTable
from headrace.streams.chat.rooms.rooms import Room
from tests.worlds.played_dynamodb import Play, play_responses, refusal

THROTTLED = refusal("ProvisionedThroughputExceededException")
ALICE = Caller("alice", "Alice", frozenset({"chat:read"}), 2_000_000_000)
RANGE = RangeQuery("Messages", "roomId", "kitchen", "timestampSk")
COLUMNS = Query("Messages", "bucketId", "001", "timestampSk", "TimeIndex", "a", "b", attributes=("userId",))

ADAPTERS: dict[str, Callable[[Any], object]] = {
    "ranges": lambda dynamodb: DynamoReader(dynamodb).read(RANGE),
    "columns": lambda dynamodb: DynamoColumns(dynamodb).read(COLUMNS),
    "rooms": lambda dynamodb: RoomTable(dynamodb, "Rooms").get("kitchen"),
    "several rooms": lambda dynamodb: RoomTable(dynamodb, "Rooms").get_many(["kitchen"]),
    "memberships": lambda dynamodb: Memberships(dynamodb, "Memberships").get("alice", "kitchen"),
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a function; no call leaves this process."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")


def played(play: Play) -> AwsClient:
    dynamodb = client("dynamodb", attempts=1)
    play_responses(dynamodb, play)
    return dynamodb


def test_connections_that_were_not_deleted_are_throttled() -> None:
    unprocessed = played(lambda call: (200, {"UnprocessedItems": call["RequestItems"]}))
    connections = Connections(DynamoTable(unprocessed, "Connections", "connections"))

    with pytest.raises(StoreThrottled):
        connections.unsubscribe("kitchen", ["c-1"])


@pytest.mark.parametrize("call", ADAPTERS.values(), ids=ADAPTERS)
def test_every_adapter_maps_throttling_and_outages_alike(call: Callable[[Any], object]) -> None:
    with pytest.raises(StoreThrottled):
        call(played(lambda _: THROTTLED))
    for response in (refusal("AccessDeniedException"), refusal("InternalServerError", 500), (200, b"<html>")):
        with pytest.raises(StoreUnavailable) as raised:
            call(played(lambda _, response=response: response))
        assert not isinstance(raised.value, StoreThrottled)


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException", "ValidationException"])
@pytest.mark.parametrize("call", ADAPTERS.values(), ids=ADAPTERS)
def test_a_refusal_that_only_a_change_mends_is_counted(
    call: Callable[[Any], object], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing right once looked like an outage, and set no alarm."""
    with pytest.raises(StoreUnavailable):
        call(played(lambda _: refusal(code)))

    assert capsys.readouterr().out.replace(" ", "").count('"Unexpected":[1.0]') == 1


def test_a_refusal_that_only_a_change_mends_is_logged_with_its_operation_and_code(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(StoreUnavailable):
        ADAPTERS["rooms"](played(lambda _: refusal("UnrecognizedClientException")))

    assert "AWS refused batch_get_item: UnrecognizedClientException" in caplog.text
    assert "no" not in [word for record in caplog.records for word in record.getMessage().split()]


def test_an_outage_or_an_item_that_the_table_refuses_is_not_counted_as_unexpected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for code, status in (("InternalServerError", 500), ("ThrottlingException", 400)):
        with pytest.raises(StoreUnavailable):
            ADAPTERS["rooms"](played(lambda _, code=code, status=status: refusal(code, status)))
    store = DynamoStore(dynamodb=played(lambda _: refusal("ValidationException")))
    (outcome,) = store.put_many(Table("Messages", ("roomId",)), [{"roomId": "kitchen"}])

    assert isinstance(outcome, PoisonRecord)
    assert "Unexpected" not in capsys.readouterr().out


def test_a_denied_write_of_events_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    store = DynamoStore(dynamodb=played(lambda _: refusal("AccessDeniedException")))

    (outcome,) = store.put_many(Table("Messages", ("roomId",)), [{"roomId": "kitchen"}])

    assert isinstance(outcome, StoreUnavailable)
    assert '"Unexpected":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_a_response_that_is_not_json_stores_nothing() -> None:
    store = DynamoStore(dynamodb=played(lambda _: (200, b"<html>")))

    (outcome,) = store.put_many(Table("Messages", ("roomId",)), [{"roomId": "kitchen"}])

    assert isinstance(outcome, StoreUnavailable)


def test_a_failed_condition_is_not_an_outage() -> None:
    table = DynamoTable(played(lambda _: refusal("ConditionalCheckFailedException")), "Rooms", "rooms")

    with pytest.raises(ConditionFailed):
        table.put({"roomId": "kitchen"}, ConditionExpression="attribute_not_exists(roomId)")


def test_a_room_that_another_created_first_comes_with_the_failed_condition() -> None:
    """So who may create a room by a message needs no right to read it alone."""
    kitchen = Room("kitchen", "members", "group", "2026-11-24T10:00:00.000000Z", "alice")
    answer, calls = refusal("ConditionalCheckFailedException"), list[dict[str, Any]]()

    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        calls.append(call)
        body = {name: value for name, value in kitchen.to_body().items() if value is not None}
        return answer[0], {**answer[1], "Item": to_wire(body)}

    created = RoomTable(played(play), "Rooms").create(replace(kitchen, kind="open", created_by="bob"))

    assert created == kitchen
    assert len(calls) == 1


def test_keys_are_read_a_hundred_at_once_and_unprocessed_ones_once_more() -> None:
    read: list[int] = []

    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        keys = call["RequestItems"]["Rooms"]["Keys"]
        read.append(len(keys))
        left = keys[:1] if len(keys) > 1 else []
        return 200, {"Responses": {"Rooms": keys[len(left) :]}, "UnprocessedKeys": {"Rooms": {"Keys": left}}}

    keys = [{"roomId": f"room-{number}"} for number in range(150)]

    rows = DynamoTable(played(play), "Rooms", "rooms").get_many(keys)

    assert read == [100, 1, 50, 1]
    assert sorted(row["roomId"] for row in rows) == sorted(key["roomId"] for key in keys)


def test_rows_that_cannot_all_be_read_are_throttled() -> None:
    """A missing row means "no membership" or "no room", so a part of the rows is no answer."""

    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        first, *others = call["RequestItems"]["Rooms"]["Keys"]
        return 200, {"Responses": {"Rooms": others}, "UnprocessedKeys": {"Rooms": {"Keys": [first]}}}

    with pytest.raises(StoreThrottled):
        DynamoTable(played(play), "Rooms", "rooms").get_many([{"roomId": "kitchen"}, {"roomId": "cellar"}])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sets(st.text(), min_size=1)
    | st.sets(st.integers(), min_size=1),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_an_item_is_decoded_as_it_was_encoded(item: dict[str, Any]) -> None:
    assert from_wire(to_wire(item)) == item


def test_a_fraction_stays_exact() -> None:
    assert from_wire(to_wire({"n": Decimal("0.1")})) == {"n": Decimal("0.1")}
