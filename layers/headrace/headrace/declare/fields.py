"""The types of the fields of declared events, and the form that each accepts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from headrace.core import fields, keys
from headrace.core.fields import IncomingModel, Text

TEXT_LIMIT, LONGEST_TEXT = 1000, 100_000
"""The most characters of a text whose field does not say it, and the most that a field may say."""
WHOLE_LIMIT = 2**53 - 1
"""The largest whole number that every reader of JSON can hold, where a field has no bounds."""
NUMBER_LIMIT = 1e100
"""The largest number with a fraction. The least above 0 is its inverse."""
TYPES = "Id, User, Secret, str, int, float, bool, a Literal of texts, or one of these with | None"


class Event(IncomingModel):
    """The base of declared events. A field ``held_ms`` is ``heldMs`` for clients."""


class Mark(str):
    """What a type is, beside its values."""

    __slots__ = ()


ID, USER, SECRET = Mark("id"), Mark("user"), Mark("secret")
Id = Annotated[fields.NewId, ID]
"""A short text without ``#``, ``/`` and ``?``."""
User = Annotated[fields.Id, ID, USER]
"""Who did it: events are read and counted by user, exported, and blanked when the user is erased."""
Secret = Annotated[Text, SECRET]
"""A text that readers see, and neither operators nor logs nor webhooks."""


def has(field: FieldInfo, mark: Mark) -> bool:
    """Whether the type of a field has a mark."""
    return any(each is mark for each in _metadata(field))


def _metadata(field: FieldInfo) -> Iterator[Any]:
    """What the types of a field say beside ``str``, ``int`` and so on."""
    yield from field.metadata
    for part in get_args(field.annotation):
        if get_origin(part) is Annotated:
            for each in part.__metadata__:
                yield from each.metadata if isinstance(each, FieldInfo) else [each]


def _plain(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [each for part in get_args(annotation) for each in _plain(part)]
    return [annotation]


def type_of(field: FieldInfo) -> Any:
    """``str``, ``int``, ``float``, ``bool`` or a Literal of texts; ``None`` if the type is none of these."""
    types = [each for each in _plain(field.annotation) if each is not type(None)]
    if len(types) == 1 and get_origin(types[0]) is Literal:
        return types[0] if all(isinstance(each, str) for each in get_args(types[0])) else None
    return types[0] if len(types) == 1 and types[0] in (str, int, float, bool) else None


def is_text(field: FieldInfo) -> bool:
    """Whether the values of a field are texts."""
    return type_of(field) is str or get_origin(type_of(field)) is Literal


def is_optional(field: FieldInfo) -> bool:
    """Whether ``null`` is a value of a field."""
    return type(None) in _plain(field.annotation)


def bound(field: FieldInfo, *names: str) -> Any:
    """The first bound of one of these names, such as ``le``; ``None`` if there is none."""
    found = (getattr(each, name, None) for name in names for each in _metadata(field))
    return next((each for each in found if each is not None), None)


def bounded(field: FieldInfo) -> Any:
    """The type of a field, with bounds where it has none: what is accepted can be stored."""
    of, type_ = type_of(field), Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    if of is str and bound(field, "max_length") is None and not has(field, ID):
        return Annotated[type_, Field(max_length=TEXT_LIMIT), AfterValidator(_text)]
    if of is str:
        return Annotated[type_, AfterValidator(_text)]
    if of is int:
        return Annotated[type_, AfterValidator(_whole)]
    return Annotated[type_, AfterValidator(_number)] if of is float else type_


def _text(value: str | None) -> str | None:
    return value if value is None else fields.unicode(value)


def _whole(value: int | None) -> int | None:
    if value is not None and abs(value) > WHOLE_LIMIT:
        raise PydanticCustomError("size", "is out of range", {"allowed": f"at most {WHOLE_LIMIT} in size"})
    return value


def _number(value: float | None) -> float | None:
    if value and not (math.isfinite(value) and 1 / NUMBER_LIMIT <= abs(value) <= NUMBER_LIMIT):
        raise PydanticCustomError("size", "is out of range", {"allowed": "0, or 1e-100 to 1e100 in size"})
    return value


def form(field: FieldInfo) -> str:
    """The accepted form of a field, as errors quote it."""
    if field.description:
        return field.description
    of = type_of(field)
    if get_origin(of) is Literal:
        found = "one of " + ", ".join(get_args(of))
    elif of is bool:
        found = "true or false"
    elif has(field, ID):
        found = keys.ID_FORM if has(field, USER) else keys.NEW_ID_FORM
    elif of is str:
        most = bound(field, "max_length") or TEXT_LIMIT
        found = f"a text of {bound(field, 'min_length') or 0} to {most} characters"
    else:
        words = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
        found = "a whole number" if of is int else "a number"
        found += "".join(
            f" {word} {bound(field, name)}" for name, word in words.items() if bound(field, name) is not None
        )
    return f"{found}, or null" if is_optional(field) else found
