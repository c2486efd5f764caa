"""The schemas of ids accept what the validators of the layer accept."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from headrace.core.fields import Id
from headrace.streams.ads.stream import AdId, AdType
from headrace.streams.chat.room_requests import EventId
from tools.api_reference.schemas import Generator

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
    validator: TypeAdapter[Any] = TypeAdapter(form)
    try:
        validator.validate_python(text)
        is_valid = True
    except ValidationError:
        is_valid = False

    schema = validator.json_schema(schema_generator=Generator)

    assert Draft202012Validator(schema).is_valid(text) == is_valid


def test_a_validator_without_a_schema_stops_the_generator() -> None:
    from typing import Annotated

    from pydantic import AfterValidator

    def unknown(value: str) -> str:
        return value

    with pytest.raises(LookupError, match="unknown"):
        TypeAdapter(Annotated[str, AfterValidator(unknown)]).json_schema(schema_generator=Generator)
