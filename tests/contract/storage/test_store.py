"""One suite for every store, and its behaviour when DynamoDB fails.

No emulator throttles. Hooks on the real client script these answers, so that botocore processes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.ports import EXISTS, Store
from tests.contract.played_store import Played
from tests.contract.tables import MESSAGES, TABLE, item, made, scan
from tests.fakes.storage import MemoryStore
from tests.worlds.played_dynamodb import refusal
from tests.worlds.ports import free_port

Rows = Callable[[], list[Item]]
Answer = tuple[int, dict[str, Any]]


@pytest.fixture
def table(dynalite: str) -> Iterator[Any]:
    """An empty table in dynalite; the client that made it."""
    with made(MESSAGES) as dynamodb:
        yield dynamodb


@pytest.fixture(params=["memory", "dynalite", "ministack"])
def parts(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Rows]]:
    if request.param == "memory":
        memory = MemoryStore()
        yield memory, lambda: memory.rows(TABLE.name)
        return
    request.getfixturevalue(request.param)
    with made(MESSAGES) as dynamodb:
        store = DynamoStore(writing_client())
        yield store, lambda: scan(dynamodb)


def keys_of(call: dict[str, Any]) -> list[str]:
    """The sort keys of the rows that a call inserts."""
    return [each["Parameters"][1]["S"] for each in call["Statements"]]


def answer(call: dict[str, Any], **codes: str) -> Answer:
    """The answer to a call; the statements of some keys, such as ``_00003``, have errors."""
    found = [codes.get(f"_{key}") for key in keys_of(call)]
    errors: list[dict[str, Any]] = [{"Error": {"Code": code, "Message": ""}} if code else {} for code in found]
    return 200, {"Responses": [{"TableName": TABLE.name, **each} for each in errors]}


def test_put_items_are_readable(parts: tuple[Store, Rows]) -> None:
    store, rows = parts
    items = [item(number) for number in range(130)]

    assert store.put_many(TABLE, items) == [None] * 130

    assert rows() == sorted(items, key=TABLE.key_of)


def test_every_kind_of_value_is_stored_unchanged(parts: tuple[Store, Rows]) -> None:
    store, rows = parts
    odd = item(
        1,
        text="\x00\x1f \u2028 👩‍👩‍👧 \"quoted\" '?' \\",
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


def test_a_row_that_is_there_stays_and_others_are_stored(parts: tuple[Store, Rows]) -> None:
    """P3; and fault 12: items with one key in one call."""
    store, rows = parts

    assert store.put_many(TABLE, [item(1, text="first"), item(2), item(1, text="second")]) == [None, None, EXISTS]
    outcomes = store.put_many(TABLE, [item(number, text="late") for number in range(60)])

    assert outcomes == [EXISTS if number in (1, 2) else None for number in range(60)]
    assert [row["text"] for row in rows()].count("late") == 58
    assert {row["text"] for row in rows() if row["timestampSk"] == "00001"} == {"first"}


def test_an_item_that_the_table_refuses_is_poison_and_others_are_stored(parts: tuple[Store, Rows]) -> None:
    store, rows = parts

    outcomes = store.put_many(TABLE, [item(1), item(2, text="x" * 410_000), item(3)])

    assert outcomes[0] is None
    assert outcomes[2] is None
    assert isinstance(outcomes[1], PoisonRecord)
    assert outcomes[1].reason == "refused_by_store"
    assert len(rows()) == 2


def test_of_two_writers_at_the_same_moment_the_first_wins(played: Callable[..., Played], table: Any) -> None:
    """P3."""
    other = DynamoStore(writing_client())

    def play(_: dict[str, Any]) -> None:
        assert other.put_many(TABLE, [item(1, text="other")]) == [None]

    assert played(play).store.put_many(TABLE, [item(1, text="slow")]) == [EXISTS]

    assert [row["text"] for row in scan(table)] == ["other"]


def test_a_row_whose_answer_was_lost_is_there(played: Callable[..., Played], table: Any) -> None:
    answers = iter([refusal("InternalServerError", 500)])
    writer = DynamoStore(writing_client())

    def play(_: dict[str, Any]) -> Answer | None:
        writer.put_many(TABLE, [item(1)])
        return next(answers, None)

    assert played(play).store.put_many(TABLE, [item(1)]) == [EXISTS]


def test_no_call_holds_one_key_twice_or_more_than_25_items(played: Callable[..., Played]) -> None:
    parts = played(answer)

    parts.store.put_many(TABLE, [item(number % 60) for number in range(200)])

    keys = [keys_of(call) for call in parts.calls]
    assert all(len(each) == len(set(each)) for each in keys)
    assert sorted(map(len, keys)) == [10, 25, 25]


def test_throttled_items_are_tried_again_alone(played: Callable[..., Played]) -> None:
    """Fault 3."""
    first = {"_00001": "ThrottlingError", "_00002": "DuplicateItem", "_00003": "ProvisionedThroughputExceeded"}
    codes = iter([first, {"_00003": "RequestLimitExceeded"}])
    parts = played(lambda call: answer(call, **next(codes, {})))

    assert parts.store.put_many(TABLE, [item(number) for number in range(4)]) == [None, None, EXISTS, None]

    assert [keys_of(call) for call in parts.calls] == [
        ["00000", "00001", "00002", "00003"],
        ["00001", "00003"],
        ["00003"],
    ]


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("ThrottlingError", StoreThrottled),
        ("InternalServerError", StoreUnavailable),
        ("AccessDenied", StoreUnavailable),
        ("ValidationError", PoisonRecord),
        ("ItemCollectionSizeLimitExceeded", PoisonRecord),
    ],
)
def test_each_item_has_an_outcome_of_its_own(
    played: Callable[..., Played], code: str, failure: type[Exception]
) -> None:
    parts = played(lambda call: answer(call, _00002=code), retry_seconds=0.2)

    outcomes = parts.store.put_many(TABLE, [item(1), item(2)])

    assert [type(each) for each in outcomes] == [type(None), failure]


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "ThrottlingException"])
def test_a_throttled_call_is_tried_again(played: Callable[..., Played], code: str) -> None:
    answers = iter([refusal(code)] * 3)

    outcomes = played(lambda call: next(answers, None) or answer(call)).store.put_many(TABLE, [item(1), item(2)])

    assert outcomes == [None, None]


def test_any_number_of_invalid_items_is_isolated(played: Callable[..., Played]) -> None:
    bad = {"00000", "00007", "00008", "00024"}

    def play(call: dict[str, Any]) -> Answer:
        return refusal("ValidationException") if bad & {*keys_of(call)} else answer(call)

    outcomes = played(play).store.put_many(TABLE, [item(number) for number in range(25)])

    assert [number for number, outcome in enumerate(outcomes) if outcome is not None] == [0, 7, 8, 24]
    assert all(isinstance(outcome, PoisonRecord) for outcome in outcomes if outcome is not None)


def test_an_unavailable_table_costs_a_bounded_number_of_calls(played: Callable[..., Played]) -> None:
    parts = played(lambda _: refusal("AccessDeniedException"))

    outcomes = parts.store.put_many(TABLE, [item(number) for number in range(1000)])

    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
    assert len(parts.calls) <= 8


def test_without_a_service_the_table_is_unavailable(monkeypatch: pytest.MonkeyPatch, aws: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    store = DynamoStore(writing_client())

    outcomes = store.put_many(TABLE, [item(number) for number in range(60)])

    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
