"""Calls that an emulator accepts and AWS refuses, which the layer never makes.

AWS documents a ValidationException for each call; this was not verified on AWS. The first test fails when an emulator
begins to refuse a call (remove its name from the entry), or accepts another one. The emulators have no limit of
throughput either, if the stage gives them none (``test_throughput.py``): ``test_store.py`` scripts throttling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from headrace.core.errors import PoisonRecord
from headrace.core.items import check
from headrace.runtime.aws import client
from headrace.storage.dynamodb.client import WRITE_LIMIT, DynamoClient
from headrace.storage.ports import one_of_each
from headrace.streams.chat.stream import CHAT
from tests.contract.emulators import function_environment
from tests.contract.tables import MESSAGES, TABLE, made
from tests.worlds.senders import CLOCK, message, sender
from tests.worlds.senders import TABLE as CHAT_TABLE

Wire = dict[str, Any]
PLAYED_BY = {"moto": "aws", "dynalite": "dynalite"}


def wire(number: int = 1, **more: Wire) -> Wire:
    return {"roomId": {"S": f"room-{number}"}, "timestampSk": {"S": f"{number:05d}"}, **more}


def nested(levels: int) -> Wire:
    value: Wire = {"S": "x"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


def never_more_than_25() -> None:
    """``test_store.py`` holds each call to it."""
    assert WRITE_LIMIT == 25


def never_one_key_twice() -> None:
    row = {"roomId": "room-1", "timestampSk": "1"}
    assert len(one_of_each(TABLE, [row, row])[0]) == 1


def refused_as(reason: str, **more: Any) -> Callable[[], None]:
    """The check of every row before it is written refuses it."""

    def refuse() -> None:
        with pytest.raises(PoisonRecord) as refused:
            check({"roomId": "room-1", "timestampSk": "1", **more}, *TABLE.key)
        assert refused.value.reason == reason

    return refuse


def no_event(reason: str, **fields: Any) -> Callable[[], None]:
    """The validation of every event refuses it, so no row is made of it."""

    def refuse() -> None:
        event = CHAT.accept(message(), sender()).event
        with pytest.raises(PoisonRecord) as refused:
            CHAT.item(event | fields, CLOCK.now(), CHAT_TABLE)
        assert refused.value.reason == reason

    return refuse


def unsent(**parameters: Any) -> Callable[[], None]:
    """The client refuses the call before it sends it."""

    def refuse() -> None:
        def operation(**_: Any) -> dict[str, Any]:
            raise AssertionError("the call was sent")

        with pytest.MonkeyPatch.context() as patch:
            function_environment(patch, "http://127.0.0.1:1")
            calls = DynamoClient(client("dynamodb"), "rows cannot be reached", "rows are asked for too often")
        with pytest.raises(ValueError, match="DynamoDB takes"):
            calls.call(operation, TableName=TABLE.name, **parameters)

    return refuse


@dataclass(frozen=True)
class Entry:
    """A call that AWS refuses, the emulators that accept it, and the check in the layer that prevents it."""

    call: Callable[[Any], Any]
    lets_pass: frozenset[str]
    ours: Callable[[], None]


def entry(puts: list[Wire] | Wire, ours: Callable[[], None], *lets_pass: str) -> Entry:
    rows = puts if isinstance(puts, list) else [puts]
    requests = {TABLE.name: [{"PutRequest": {"Item": row}} for row in rows]}
    return Entry(lambda dynamodb: dynamodb.batch_write_item(RequestItems=requests), frozenset(lets_pass), ours)


def query(*lets_pass: str, **parameters: Any) -> Entry:
    return Entry(
        lambda dynamodb: dynamodb.query(TableName=TABLE.name, **parameters), frozenset(lets_pass), unsent(**parameters)
    )


def update(*lets_pass: str, **parameters: Any) -> Entry:
    given = {"Key": wire(), **parameters}
    return Entry(
        lambda dynamodb: dynamodb.update_item(TableName=TABLE.name, **given), frozenset(lets_pass), unsent(**given)
    )


TOO_LARGE = "x" * 410 * 1024
TOO_LARGE_IN_UTF_8 = "я" * 205 * 1024
EMPTY = {"ExpressionAttributeValues": {":v": {"S": ""}}}
LONG = "x" * 250

ENTRIES = {
    "26 items": entry([wire(number) for number in range(26)], never_more_than_25, "moto"),
    "one key twice": entry([wire(), wire()], never_one_key_twice),
    "an item over 400 KB": entry(wire(text={"S": TOO_LARGE}), refused_as("item_too_large", text=TOO_LARGE)),
    "an empty key": entry(wire(roomId={"S": ""}), refused_as("empty_key", roomId="")),
    "a key over 2048 bytes": entry(wire(roomId={"S": "x" * 2049}), refused_as("invalid_key", roomId="x" * 2049)),
    "an empty index key": entry(wire(userId={"S": ""}), no_event("empty_key", userId=""), "dynalite"),
    "an index key over 2048 bytes": entry(
        wire(userId={"S": "x" * 2049}), no_event("invalid_key", userId="x" * 2049), "dynalite"
    ),
    "an index key of another type": entry(wire(userId={"N": "1"}), no_event("invalid_event", userId=1), "moto"),
    "an item over 400 KB in UTF-8": entry(
        wire(text={"S": TOO_LARGE_IN_UTF_8}), refused_as("item_too_large", text=TOO_LARGE_IN_UTF_8), "dynalite"
    ),
    "a key over 2048 bytes in UTF-8": entry(
        wire(roomId={"S": "я" * 1025}), refused_as("invalid_key", roomId="я" * 1025), "dynalite"
    ),
    "a sort key over 1024 bytes in UTF-8": entry(
        wire(timestampSk={"S": "я" * 513}), refused_as("invalid_key", timestampSk="я" * 513), "dynalite"
    ),
    "an index key over 2048 bytes in UTF-8": entry(
        wire(userId={"S": "я" * 1025}), no_event("invalid_key", userId="я" * 1025), "dynalite"
    ),
    "an empty partition key in a condition": query("dynalite", KeyConditionExpression="roomId = :v", **EMPTY),
    "an empty sort key in a condition": query(
        "dynalite",
        KeyConditionExpression="roomId = :room AND timestampSk >= :v",
        ExpressionAttributeValues={":room": {"S": "room-1"}, ":v": {"S": ""}},
    ),
    "an empty index key in a condition": query(
        "dynalite", IndexName="UserIndex", KeyConditionExpression="userId = :v", **EMPTY
    ),
    "an expression over 4096 bytes": update(
        "moto", "dynalite", UpdateExpression="REMOVE " + ", ".join(f"{LONG}{number}" for number in range(17))
    ),
    "an expression with over 300 operators": query(
        "moto",
        "dynalite",
        KeyConditionExpression="roomId = :room",
        FilterExpression=" OR ".join(["#c = :one"] * 151),
        ExpressionAttributeNames={"#c": "count"},
        ExpressionAttributeValues={":room": {"S": "room-1"}, ":one": {"N": "1"}},
    ),
    "a number of 39 digits": entry(
        wire(count={"N": "1" * 39}), refused_as("invalid_number", count=int("1" * 39)), "moto"
    ),
    "a number too large": entry(
        wire(count={"N": "1E126"}), refused_as("invalid_number", count=Decimal("1E126")), "moto"
    ),
    "a number too small": entry(wire(count={"N": "1E-131"}), refused_as("invalid_number", count=Decimal("1E-131"))),
    "no number": entry(wire(count={"N": "NaN"}), refused_as("invalid_number", count=Decimal("NaN"))),
    "an empty set": entry(wire(tags={"SS": []}), no_event("invalid_event", message=[]), "moto"),
    "32 levels": entry(
        wire(deep=nested(32)), no_event("invalid_event", message={"deep": nested(32)}), "moto", "dynalite"
    ),
}
"""By the error of the call."""


@pytest.mark.parametrize("service", PLAYED_BY)
def test_the_lenient_emulators_of_each_entry_are_named(service: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(PLAYED_BY[service])

    with made(MESSAGES) as dynamodb:
        passes = {name for name, each in ENTRIES.items() if _passes(dynamodb, each.call)}

    assert passes == {name for name, each in ENTRIES.items() if service in each.lets_pass}


def _passes(dynamodb: Any, call: Callable[[Any], Any]) -> bool:
    try:
        answer = call(dynamodb)
    except (ClientError, ConnectionClosedError):  # dynalite closes the connection if a body is far too large
        return False
    assert not answer.get("UnprocessedItems"), "an emulator returns unprocessed items: use it in the tests"
    return True


@pytest.mark.parametrize("what", ENTRIES)
def test_the_layer_never_makes_a_call_that_aws_refuses(what: str) -> None:
    ENTRIES[what].ours()
