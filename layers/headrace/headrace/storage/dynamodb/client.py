"""Single rows in DynamoDB, read consistently and written under conditions, with our errors for what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.runtime.aws import AWS_ERRORS, error_code, is_throttling

BATCH = 100
"""Keys that one BatchGetItem takes."""

CONDITION_FAILED = "ConditionalCheckFailedException"


class ConditionFailed(Exception):
    """A write's condition does not hold."""


def call(client: Any, operation: str, **arguments: Any) -> dict[str, Any]:
    """What a DynamoDB client's ``operation`` answers.

    Raises:
        ConditionFailed: the write's condition does not hold.
        StoreUnavailable: no answer in time; StoreThrottled: too many calls now.
    """
    try:
        answer: dict[str, Any] = getattr(client, operation)(**arguments)
    except AWS_ERRORS as error:
        if error_code(error) == CONDITION_FAILED:
            raise ConditionFailed from None
        if is_throttling(error):
            raise StoreThrottled("rooms are asked for too often right now; try again shortly") from error
        raise StoreUnavailable("rooms cannot be reached right now; try again shortly") from error
    return answer


def batch_get(
    client: Any, table: str, keys: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Sequence[Mapping[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]]:
    """Consistent BatchGetItem calls for distinct ``keys``: which were asked for, their rows, which were not read."""
    for at in range(0, len(keys), BATCH):
        asked = keys[at : at + BATCH]
        answer = call(client, "batch_get_item", RequestItems={table: {"Keys": asked, "ConsistentRead": True}})
        rows = answer["Responses"].get(table, [])
        yield asked, rows, answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
