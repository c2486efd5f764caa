"""Insert-only tables read the keys of new rows first, and write only missing rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.storage.dynamodb.batch_writer import LOOKED_UP, DynamoStore, writing_client
from headrace.storage.dynamodb.client import GET_LIMIT
from headrace.storage.ports import Table
from tests.contract.played_store import Played
from tests.contract.tables import MESSAGES, TABLE, item, made, scan
from tests.worlds.played_dynamodb import refusal

FIRST = Table(TABLE.name, TABLE.key, insert_only=True)


@pytest.fixture
def table(aws: str) -> Iterator[Any]:
    """An empty table in moto; the client that made it."""
    with made(MESSAGES) as dynamodb:
        yield dynamodb


def looks(call: dict[str, Any]) -> bool:
    return isinstance(call["RequestItems"][TABLE.name], dict)


def test_keys_are_read_consistently_a_hundred_at_once_without_their_rows(
    played: Callable[..., Played], table: Any
) -> None:
    parts = played(lambda _: None)

    assert parts.store.put_many(FIRST, [item(number) for number in range(150)]) == [None] * 150

    asked = [call["RequestItems"][TABLE.name] for call in parts.calls if looks(call)]
    assert sorted(len(each["Keys"]) for each in asked) == [50, GET_LIMIT]
    assert all(each["ConsistentRead"] for each in asked)
    assert {name for each in asked for name in each["ExpressionAttributeNames"].values()} == set(TABLE.key)
    assert len(scan(table)) == 150


def test_an_existing_row_is_not_written_again(played: Callable[..., Played], table: Any) -> None:
    """P3."""
    parts = played(lambda _: None)
    parts.store.put_many(FIRST, [item(number) for number in range(10)])
    parts.calls.clear()

    assert parts.store.put_many(FIRST, [item(number, text="late") for number in range(11)]) == [None] * 11

    (put,) = [call["RequestItems"][TABLE.name] for call in parts.calls if not looks(call)]
    assert [each["PutRequest"]["Item"]["timestampSk"] for each in put] == [{"S": "00010"}]


def test_keys_that_were_not_looked_up_are_looked_up_again(played: Callable[..., Played], table: Any) -> None:
    answers = iter([1, 2])

    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if not looks(call) or next(answers, None) is None:
            return None
        keys = call["RequestItems"][TABLE.name]["Keys"]
        return 200, {"Responses": {}, "UnprocessedKeys": {TABLE.name: {"Keys": keys}}}

    DynamoStore(writing_client()).put_many(TABLE, [item(1, text="first")])
    assert played(play).store.put_many(FIRST, [item(1), item(2)]) == [None, None]

    assert sorted(row["text"] for row in scan(table)) == ["first", "hello"]


@pytest.mark.parametrize(
    ("code", "status", "failure"),
    [("ThrottlingException", 400, StoreThrottled), ("AccessDeniedException", 400, StoreUnavailable)],
)
def test_a_row_is_not_written_when_its_key_cannot_be_read(
    played: Callable[..., Played], table: Any, code: str, status: int, failure: type[StoreUnavailable]
) -> None:
    parts = played(lambda call: refusal(code, status) if looks(call) else None, retry_seconds=0.2)

    outcomes = parts.store.put_many(FIRST, [item(1), item(2)])

    assert [type(each) for each in outcomes] == [failure, failure]
    assert scan(table) == []


def test_a_key_read_too_long_ago_is_not_written(played: Callable[..., Played], table: Any) -> None:
    def play(call: dict[str, Any]) -> None:
        if looks(call):
            time.sleep(0.2)

    outcomes = played(play, retry_seconds=0.1).store.put_many(FIRST, [item(1), item(2)])

    assert [type(each) for each in outcomes] == [StoreThrottled, StoreThrottled]
    assert scan(table) == []


def test_many_rows_are_stored_although_all_of_them_take_longer_than_retries(
    played: Callable[..., Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call takes a tenth of a second here, and the rows that are looked up together 4 s."""
    parts = played(lambda call: (200, {"Responses": {}} if looks(call) else {}), retry_seconds=5.0)
    clock = SimpleNamespace(monotonic=lambda: len(parts.calls) / 10)
    monkeypatch.setattr("headrace.storage.dynamodb.batch_writer.time", clock)
    rows = [item(number) for number in range(3 * LOOKED_UP)]

    assert parts.store.put_many(FIRST, rows) == [None] * len(rows)

    puts = [call["RequestItems"][TABLE.name] for call in parts.calls if not looks(call)]
    assert sum(map(len, puts)) == len(rows)


def test_two_concurrent_writers_leave_one_row(played: Callable[..., Played], table: Any) -> None:
    """P3: one row per key is stored, from either writer."""
    other = DynamoStore(writing_client())

    def play(call: dict[str, Any]) -> None:
        if not looks(call):
            other.put_many(FIRST, [item(1, text="other")])

    assert played(play).store.put_many(FIRST, [item(1, text="slow")]) == [None]

    assert [row["text"] for row in scan(table)] == ["slow"]
