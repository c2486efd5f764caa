"""The text of a message, at most 4096 bytes of UTF-8, and the value of a reaction, at most 32 characters."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from headrace.core.fields import Text, accepts, seen, seen_form

TEXT_BYTES = 4096
TEXT_FORM = f"a text of at most {TEXT_BYTES} bytes in UTF-8"
VALUE_LIMIT = 32
VALUE_FORM = f"an emoji, or {seen_form(VALUE_LIMIT)}"


def _bounded(value: str) -> str:
    if len(value) * 4 > TEXT_BYTES and len(value.encode()) > TEXT_BYTES:
        raise PydanticCustomError("too_long", "is longer than 4096 bytes")
    return value


MessageText = Annotated[Text, AfterValidator(_bounded), accepts(maxLength=TEXT_BYTES)]
ReactionValue = Annotated[str, *seen(VALUE_LIMIT)]
