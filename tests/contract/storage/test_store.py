"""One suite for every store, and its behaviour when DynamoDB fails.

No emulator throttles or returns unprocessed items. Hooks on the real client script these answers, so that botocore
processes them. ``test_emulator_lenience.py`` has the other differences of emulators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.ports import Store, Table
from tests.contract.played_store import Played
from tests.contract.tables import MESSAGES, TABLE, item, made, scan
from tests.fakes.storage import MemoryStore
from tests.worlds.played_dynamodb import refusal
from tests.worlds.ports import free_port

Rows = Callable[[], list[Item]]


@pytest.fixture
def table(aws: str) -> Iterator[Any]:
    """An empty table in moto; the client that made it."""
    with made(MESSAGES) as dynamodb:
        yield dynamodb


@pytest.fixture(params=["memory", "dynalite"])
def parts(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Rows]]:
    if request.param == "memory":
        memory = MemoryStore()
        yield memory, lambda: memory.rows(TABLE.name)
        return
    request.getfixturevalue(request.param)
    with made(MESSAGES) as dynamodb:
        store = DynamoStore(writing_client())
        yield store, lambda: scan(dynamodb)


def test_put_items_are_readable(parts: tuple[Store, Rows]) -> None:
    store, rows = parts
    items = [item(number) for number in range(130)]

    assert store.put_many(TABLE, items) == [None] * 130

    assert rows() == sorted(items, key=TABLE.key_of)


def test_every_kind_of_value_is_stored_unchanged(parts: tuple[Store, Rows]) -> None:
    store, rows = parts
    odd = item(
        1,
        text='\x00\x1f \u2028 👩‍👩‍👧 "quoted" \\',
        count=-7,
        fraction=Decimal("0.1"),
        flag=True,
        nothing=None,
        list=["a", 1, {"b": None}],
        tags={"x", "y"},
        empty="",
    )

    assert store.put_many(TABLE, [odd]) == [None]

    assert rows() == [odd]


def test_equal_keys_in_one_call_are_one_row_and_the_last_wins(parts: tuple[Store, Rows]) -> None:
    """Fault 12: DynamoDB refuses a whole call with two puts of one key."""
    store, rows = parts

    outcomes = store.put_many(TABLE, [item(1, text="first"), item(2), item(1, text="last")])

    assert outcomes == [None, None, None]
    assert [row["text"] for row in rows()] == ["last", "hello"]


def test_putting_again_changes_nothing(parts: tuple[Store, Rows]) -> None:
    store, rows = parts
    items = [item(number) for number in range(30)]
    store.put_many(TABLE, items)

    store.put_many(TABLE, items)

    assert len(rows()) == 30


def test_an_insert_only_table_keeps_the_first_row_of_a_key(parts: tuple[Store, Rows]) -> None:
    store, rows = parts
    first = Table(TABLE.name, TABLE.key, insert_only=True)

    assert store.put_many(first, [item(1, text="first"), item(2), item(1, text="second")]) == [None] * 3
    assert store.put_many(first, [item(number, text="late") for number in range(60)]) == [None] * 60

    assert [row["text"] for row in rows()].count("late") == 58
    assert {row["text"] for row in rows() if row["timestampSk"] == "00001"} == {"first"}


def test_putting_no_items_succeeds(parts: tuple[Store, Rows]) -> None:
    assert parts[0].put_many(TABLE, []) == []


def test_an_item_that_the_table_refuses_is_poison_and_others_are_stored(parts: tuple[Store, Rows]) -> None:
    store, rows = parts

    outcomes = store.put_many(TABLE, [item(1), item(2, timestampSk=""), item(3)])

    assert outcomes[0] is None
    assert outcomes[2] is None
    assert isinstance(outcomes[1], PoisonRecord)
    assert outcomes[1].reason == "refused_by_store"
    assert len(rows()) == 2


def test_no_call_holds_one_key_twice_or_more_than_25_items(played: Callable[..., Played]) -> None:
    parts = played(lambda _: (200, {}))

    parts.store.put_many(TABLE, [item(number % 60) for number in range(200)])

    sizes = []
    for call in parts.calls:
        keys = [
            tuple(put["PutRequest"]["Item"][name]["S"] for name in TABLE.key)
            for put in call["RequestItems"][TABLE.name]
        ]
        assert len(keys) == len(set(keys))
        sizes.append(len(keys))
    assert sorted(sizes) == [10, 25, 25]


def test_unprocessed_items_are_retried_until_they_are_stored(played: Callable[..., Played], table: Any) -> None:
    """Fault 3."""
    refused = 0

    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        nonlocal refused
        refused += 1
        return (200, {"UnprocessedItems": call["RequestItems"]}) if refused <= 3 else None

    outcomes = played(play).store.put_many(TABLE, [item(number) for number in range(20)])

    assert outcomes == [None] * 20
    assert len(scan(table)) == 20


def test_only_the_unprocessed_items_are_sent_again(played: Callable[..., Played]) -> None:
    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        puts = call["RequestItems"][TABLE.name]
        return 200, {"UnprocessedItems": {TABLE.name: puts[:2]}} if len(puts) > 2 else {}

    parts = played(play)

    assert parts.store.put_many(TABLE, [item(number) for number in range(10)]) == [None] * 10
    assert [len(call["RequestItems"][TABLE.name]) for call in parts.calls] == [10, 2]


def test_items_that_stay_unprocessed_are_returned_as_throttled(played: Callable[..., Played]) -> None:
    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        hot = [
            put for put in call["RequestItems"][TABLE.name] if put["PutRequest"]["Item"]["timestampSk"]["S"] == "00003"
        ]
        return 200, {"UnprocessedItems": {TABLE.name: hot}} if hot else {}

    outcomes = played(play, retry_seconds=0.3).store.put_many(TABLE, [item(number) for number in range(10)])

    assert [type(outcome) for outcome in outcomes] == [type(None)] * 3 + [StoreThrottled] + [type(None)] * 6


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "ThrottlingException"])
def test_a_throttled_call_is_retried_like_unprocessed_items(played: Callable[..., Played], code: str) -> None:
    answers = iter([refusal(code)] * 3)

    outcomes = played(lambda _: next(answers, (200, {}))).store.put_many(TABLE, [item(1), item(2)])

    assert outcomes == [None, None]


def test_any_number_of_invalid_items_is_isolated(played: Callable[..., Played]) -> None:
    def play(call: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        bad = any(put["PutRequest"]["Item"]["text"]["S"] == "bad" for put in call["RequestItems"][TABLE.name])
        return refusal("ValidationException") if bad else (200, {})

    items = [item(number, text="bad" if number in (0, 7, 8, 24) else "good") for number in range(25)]

    outcomes = played(play).store.put_many(TABLE, items)

    assert [number for number, outcome in enumerate(outcomes) if outcome is not None] == [0, 7, 8, 24]
    assert all(isinstance(outcome, PoisonRecord) for outcome in outcomes if outcome is not None)


def test_an_unavailable_table_costs_a_bounded_number_of_calls(played: Callable[..., Played]) -> None:
    parts = played(lambda _: refusal("AccessDeniedException"))

    outcomes = parts.store.put_many(TABLE, [item(number) for number in range(1000)])

    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
    assert len(parts.calls) <= 8


def test_a_table_that_does_not_exist_is_unavailable(aws: str) -> None:
    store = DynamoStore(writing_client())

    (outcome,) = store.put_many(Table("Nowhere", TABLE.key), [item(1)])

    assert isinstance(outcome, StoreUnavailable)


def test_without_a_service_the_table_is_unavailable(monkeypatch: pytest.MonkeyPatch, aws: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    store = DynamoStore(writing_client())

    outcomes = store.put_many(TABLE, [item(number) for number in range(60)])

    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
