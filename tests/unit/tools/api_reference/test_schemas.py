"""The schemas of ids and times accept what the validators of the layer accept."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from headrace.core.fields import Id, Time
from headrace.features.ads.stream import AdId, AdType
from headrace.streams.chat.rooms.requests import EventId
from tools.api_reference.schemas import Generator, parameter

TIMES = [
    "2026-11-22T09:51:34.874433Z",
    "2026-11-22T09:51:34Z",
    "2026-11-22t09:51z",
    "2026-11-22 09:51:34,5+01:00",
    "2026-11-22T09:51:34.123456789012-0530",
    "2026-11-22T09:51:34",
    "2026-11-22",
    "2026-11-22T09Z",
    "2026-11-22T09:51.5Z",
    "1763805094874",
    "9" * 16,
    "now",
    "",
    0,
    1763805094874,
    253_402_300_799_999,
    253_402_300_800_000,
    -1,
]
TEXTS = [
    "a",
    "kitchen",
    "küche",
    "部屋",
    "two words",
    "tab\there",
    "a#b",
    "",
    "x" * 128,
    "x" * 129,
    "a.b-c_d",
    "\x7f",
    "é" * 32,
]


def is_valid(kind: TypeAdapter[Any], value: object) -> bool:
    """What the validator of the layer says."""
    try:
        kind.validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("form", [Id, AdId, AdType, EventId, Time], ids=["id", "ad id", "ad type", "event id", "time"])
@pytest.mark.parametrize("value", [*TEXTS, *TIMES], ids=ascii)
def test_a_schema_accepts_what_the_validator_accepts(form: Any, value: object) -> None:
    kind: TypeAdapter[Any] = TypeAdapter(form)
    schema = kind.json_schema(schema_generator=Generator)

    for each in (schema, parameter(schema) if isinstance(value, str) else schema):
        assert Draft202012Validator(each).is_valid(value) == is_valid(kind, value)
