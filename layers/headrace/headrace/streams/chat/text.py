"""The text of a message, at most 4096 bytes of UTF-8."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from headrace.core.fields import Text, accepts

TEXT_BYTES = 4096
TEXT_FORM = f"a text of at most {TEXT_BYTES} bytes in UTF-8"


def _bounded(value: str) -> str:
    if len(value) * 4 > TEXT_BYTES and len(value.encode()) > TEXT_BYTES:
        raise PydanticCustomError("too_long", "is longer than 4096 bytes")
    return value


MessageText = Annotated[Text, AfterValidator(_bounded), accepts(maxLength=TEXT_BYTES)]
