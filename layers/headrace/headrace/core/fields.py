"""Field types that models share: ids, texts, times, whole numbers, sender tags."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from headrace.core import keys, times

_ISO = (
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,12})?)?"
    r"([Zz]|[+-][0-2][0-9]:?[0-5][0-9])"
)


def accepts(**schema: Any) -> Any:
    """What the validator of a field accepts, as JSON schema, for the API documents.

    EventId = Annotated[str, AfterValidator(_event_id), accepts(minLength=1, maxLength=64)]
    """
    return Field(json_schema_extra=schema)


class EventModel(BaseModel):
    """Base of models of stored events: strict types, camelCase outside, unknown fields ignored.

    A field's ``description`` is its accepted form, and is quoted when a value is refused.
    """

    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel)


class IncomingModel(EventModel):
    """Base of models of events as clients send them: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def _id(value: str) -> str:
    return checked_id(keys.new_id, value)


def _stored_id(value: str) -> str:
    return checked_id(keys.normalize_id, value)


def checked_id(form: Callable[[str], str], value: str) -> str:
    """``form(value)``; its ValueError is the message of the field's error."""
    try:
        return form(value)
    except ValueError as error:
        raise PydanticCustomError("empty_key" if not value else "invalid_key", str(error)) from None


def _unicode(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise PydanticCustomError("string_unicode", "is not valid Unicode") from None
    return value


def _time(value: object) -> str:
    try:
        return times.parse(value)
    except ValueError:
        raise PydanticCustomError("time", "is not a time with a zone") from None


def _canonical(value: str) -> str:
    if not times.is_canonical(value):
        raise PydanticCustomError("invalid_key", "is not a canonical time")
    return value


def _tag(value: str) -> str:
    if not keys.is_sender_tag(value):
        raise PydanticCustomError("invalid_key", "is not a sender tag")
    return value


_DIGITS = re.compile(r"-?[0-9]+")


def _number_or_digits(value: object) -> object:
    """Refuse what pydantic would read as a number beside numbers and digits: ``true``, ``1.0``, ``" 1"``, ``+1``."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise PydanticCustomError("int_type", "is not a whole number")


def whole_number(least: int, most: int, form: str = "a whole number", **more: Any) -> Any:
    """A field for whole numbers from ``least`` to ``most``; its description is ``form`` with these bounds.

        limit: Number = whole_number(1, 200, default=20)

    ``more`` are arguments of pydantic's ``Field``.
    """
    return Field(**{"ge": least, "le": most, "description": f"{form} from {least} to {most}", **more})


NUMBER_OR_DIGITS = BeforeValidator(_number_or_digits)
"""For a whole number that may be sent as a text of digits, whose field has the options ``DIGITS``."""
DIGITS: dict[str, Any] = {
    "strict": False,
    "json_schema_extra": {"type": ["integer", "string"], "pattern": r"^[0-9]{1,12}$"},
}
Number = Annotated[int, Field(**DIGITS), NUMBER_OR_DIGITS]
"""A whole number, or its digits: a path and a query string have only texts."""
Text = Annotated[str, AfterValidator(_unicode)]
_LENGTH = {"minLength": 1, "maxLength": keys.ID_LIMIT}
Id = Annotated[str, AfterValidator(_id), accepts(**_LENGTH, pattern=r"^(?!\.{1,2}$)[^#/?\u0000-\u001f\u007f-\u009f]+$")]
StoredId = Annotated[str, AfterValidator(_stored_id), accepts(**_LENGTH, pattern=r"^[^#\u0000-\u001f\u007f-\u009f]+$")]
Name = StoredId
TIME_SCHEMA = {"type": ["string", "integer"], "pattern": f"^{_ISO}$", "minimum": 0, "maximum": 253_402_300_799_999}
QUERY_TIME_SCHEMA = {"type": "string", "pattern": f"^([0-9]{{1,15}}|{_ISO})$"}
"""A time in a path or a query string, where every value is text."""
Time = Annotated[str, BeforeValidator(_time), accepts(**TIME_SCHEMA)]
CanonicalTime = Annotated[str, AfterValidator(_canonical)]
SenderTag = Annotated[str, AfterValidator(_tag)]
