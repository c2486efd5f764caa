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


@pytest.mark.parametrize("form", [Id, AdId, AdType, EventId], ids=["id", "ad id", "ad type", "event id"])
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_schema_accepts_the_texts_that_the_validator_accepts(form: Any, text: str) -> None:
    validator: TypeAdapter[Any] = TypeAdapter(Time)
    try:
        validator.validate_python(text)
        is_valid = True
    except ValidationError:
        is_valid = False

    schema = validator.json_schema(schema_generator=Generator)

    assert Draft202012Validator(schema).is_valid(text) == is_valid


@pytest.mark.parametrize("is_query", [False, True])
@pytest.mark.parametrize("value", TIMES, ids=ascii)
def test_the_schema_of_a_time_accepts_the_times_that_the_validator_accepts(is_query: bool, value: object) -> None:
    validator: TypeAdapter[Any] = TypeAdapter(Time)
    schema = validator.json_schema(schema_generator=Generator)
    schema = parameter(schema) if is_query and isinstance(value, str) else schema
    try:
        validator.validate_python(value)
        is_accepted = True
    except ValidationError:
        is_accepted = False

    assert Draft202012Validator(schema).is_valid(value) == is_accepted
