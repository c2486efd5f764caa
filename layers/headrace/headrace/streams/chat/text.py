"""The text of a message, at most 4096 bytes of UTF-8, and the value of a reaction, at most 32 characters."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from headrace.core.fields import Text, accepts, checked_id
from headrace.core.keys import DIRECTIONS

TEXT_BYTES = 4096
TEXT_FORM = f"a text of at most {TEXT_BYTES} bytes in UTF-8"
VALUE_LIMIT = 32
VALUE_FORM = f"1 to {VALUE_LIMIT} characters without control characters, such as an emoji"


def _bounded(value: str) -> str:
    if len(value) * 4 > TEXT_BYTES and len(value.encode()) > TEXT_BYTES:
        raise PydanticCustomError("too_long", "is longer than 4096 bytes")
    return value


def _value(value: str) -> str:
    if len(value) <= 4 * VALUE_LIMIT:  # NFC shrinks what it composes at most fourfold
        value = unicodedata.normalize("NFC", value).strip(" ")
    if len(value) > VALUE_LIMIT:
        raise ValueError(f"is longer than {VALUE_LIMIT} characters")
    categories = [unicodedata.category(character) for character in value]
    if all(each[0] in "CZ" for each in categories):
        raise ValueError("is empty" if not value else "is blank")
    if "Cc" in categories or "Cs" in categories or not DIRECTIONS.isdisjoint(value):
        raise ValueError("contains a control character")
    return value


MessageText = Annotated[Text, AfterValidator(_bounded), accepts(maxLength=TEXT_BYTES)]
ReactionValue = Annotated[
    Text,
    AfterValidator(lambda value: checked_id(_value, value)),
    accepts(minLength=1, maxLength=VALUE_LIMIT, pattern=r"^[^\u0000-\u001f\u007f-\u009f]+$"),
]
