"""Items are refused if the table cannot store them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.core import items
from headrace.core.errors import PoisonRecord


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"pk": ""}, "empty_key"),
        ({"sk": None}, "empty_key"),
        ({"pk": "x" * 2049}, "invalid_key"),
        ({"sk": "é" * 513}, "invalid_key"),
        ({"n": 10**40 + 1}, "invalid_number"),
        ({"n": [{"deep": Decimal("1E+200")}]}, "invalid_number"),
        ({"n": Decimal("NaN")}, "invalid_number"),
        ({"n": 0.5}, "invalid_event"),
        ({"text": "x" * 410_000}, "item_too_large"),
        ({"text": "é" * 205_000}, "item_too_large"),
        ({"list": ["x" * 100_000] * 5}, "item_too_large"),
        ({"odd": object()}, "invalid_event"),
    ],
)
def test_an_item_that_the_table_cannot_store_is_refused_with_a_reason(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(PoisonRecord) as caught:
        items.check({"pk": "p", "sk": "s"} | fields, "pk", "sk")

    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "fields", [{"n": 10**37}, {"n": Decimal("1E-130")}, {"n": 0}, {"text": "x" * 400_000}, {"sk": "é" * 512}]
)
def test_an_item_at_the_limits_is_accepted(fields: dict[str, Any]) -> None:
    items.check({"pk": "p", "sk": "s"} | fields, "pk", "sk")


def test_the_size_of_an_item_counts_names_and_bytes() -> None:
    assert items.size_of({"ab": "é"}) == 4
