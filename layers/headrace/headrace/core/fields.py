"""Field types that models share, and the errors of events that violate their models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from headrace.core import keys, texts, times
from headrace.core.errors import FieldError, InvalidEvent, PoisonRecord, echo

_ISO = (
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,12})?)?"
    r"([Zz]|[+-][0-2][0-9]:?[0-5][0-9])"
)


NAMED = "x-named"
"""Where :func:`named` leaves the name for the API documents."""


def accepts(**schema: Any) -> Any:
    """What the validator of a field accepts, as JSON schema, for the API documents.

    EventId = Annotated[str, AfterValidator(_event_id), accepts(minLength=1, maxLength=64)]
    """
    return Field(json_schema_extra=schema)


def named(name: str, description: str, **schema: Any) -> Any:
    """The name of a field's schema in the API documents: generators make a type of it.

    Key = Annotated[str, named("Key", "The place of an item in its history")]
    """
    return accepts(**{NAMED: {"name": name, "description": description, **schema}})


class EventModel(BaseModel):
    """Base of models of stored events: strict types, camelCase outside, unknown fields ignored.

    A field's ``description`` is its accepted form, and is quoted when a value is refused.
    """

    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel)


class IncomingModel(EventModel):
    """Base of models of events as clients send them: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def checked_id(form: Callable[[str], str], value: str) -> str:
    """``form(value)``; its ValueError is the message of the field's error."""
    try:
        return form(value)
    except ValueError as error:
        raise PydanticCustomError("empty_key" if not value else "invalid_key", str(error)) from None


def unicode(value: str) -> str:
    """``value``, if it can be encoded. Raises PydanticCustomError."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise PydanticCustomError("string_unicode", "is not valid Unicode") from None
    return value


def canonical_time(value: object) -> str:
    """The canonical text of a time in one of the accepted forms. Raises PydanticCustomError."""
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
Text = Annotated[str, AfterValidator(unicode)]
_LENGTH = {"minLength": 1, "maxLength": keys.ID_LIMIT}
Id = Annotated[
    str,
    AfterValidator(partial(checked_id, keys.path_id)),
    accepts(**_LENGTH, pattern=r"^(?!\.{1,2}$)[^#/?\u0000-\u001f\u007f-\u009f]+$"),
]
NewId = Annotated[
    str,
    AfterValidator(partial(checked_id, keys.new_id)),
    accepts(**_LENGTH, pattern=rf"^(?!\.{{1,2}}$)[^#/?{texts.PATTERN}]+$"),
]
"""An id that its sender makes. Rooms, users and what is stored are named by an ``Id``, so that older ones can be."""
StoredId = Annotated[
    str,
    AfterValidator(partial(checked_id, keys.normalize_id)),
    accepts(**_LENGTH, pattern=r"^[^#\u0000-\u001f\u007f-\u009f]+$"),
]


def seen(most: int, without: str = "") -> tuple[Any, Any]:
    """What makes ``str`` the type of a text that people see in a line: 1 to ``most`` characters, none ``without``.

    RoomName = Annotated[str, *seen(128)]
    """
    form = partial(texts.visible, most=most, without=without)
    schema = accepts(minLength=1, maxLength=most, pattern=f"^[^{without}{texts.PATTERN}]+$")
    return AfterValidator(partial(checked_id, form)), schema


def seen_form(most: int, without: str = "") -> str:
    """The accepted form of such a text."""
    return f"1 to {most} characters, {texts.FORM}" + (f" and {' and '.join(map(repr, without))}" if without else "")


Name = Annotated[str, *seen(keys.ID_LIMIT, "#")]
NAME_FORM = seen_form(keys.ID_LIMIT, "#")
QUERY_TIME_SCHEMA: dict[str, Any] = {"type": "string", "pattern": f"^([0-9]{{1,15}}|{_ISO})$"}
"""A time in a path or a query string, where every value is text."""
TIME_SCHEMA = {**QUERY_TIME_SCHEMA, "type": ["string", "integer"], "minimum": 0, "maximum": 253_402_300_799_999}
Time = Annotated[str, BeforeValidator(canonical_time), accepts(**TIME_SCHEMA)]
CanonicalTime = Annotated[str, AfterValidator(_canonical), accepts(format="date-time")]
Cursor = Annotated[str, named("Cursor", "Where another page begins; only the server reads it")]
Key = Annotated[str, named("Key", "The place of an item in its history: its time, its id and a tag of its sender")]
AcceptedLane = Annotated[Literal["main", "retry"], named("Lane", "Where an accepted event waits to be stored")]
SenderTag = Annotated[str, AfterValidator(_tag)]


Model = TypeVar("Model", bound=BaseModel)


def incoming(model: type[Model]) -> Callable[[object], Model]:
    """A function that validates a client's event as ``model``; its InvalidEvent names each invalid field."""
    return _reader(model, invalid_event)


def stamped(model: type[Model]) -> Callable[[object], Model]:
    """A function that validates an envelope's event as ``model``; the first invalid field decides its PoisonRecord."""
    return _reader(model, poison)


def _reader(
    model: type[Model], refusal: Callable[[type[BaseModel], ValidationError], Exception]
) -> Callable[[object], Model]:
    validate = model.__pydantic_validator__.validate_python

    def read(event: object) -> Model:
        try:
            return cast(Model, validate(event))
        except ValidationError as error:
            raise refusal(model, error) from None

    return read


def extended(model: type[Model], fields: Mapping[str, tuple[Any, str]]) -> type[Model]:
    """``model`` with more fields, which can be left out: by name, the type and the accepted form of each."""
    more: Any = {name: (type, Field(default=None, description=form)) for name, (type, form) in fields.items()}
    built = {"defer_build": False}
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, __cls_kwargs__=built, **more)


def invalid_event(model: type[BaseModel], error: ValidationError) -> InvalidEvent:
    """``error`` as an InvalidEvent that names each field, its value and its accepted form."""
    return InvalidEvent(details=field_errors(model, error))


def poison(model: type[BaseModel], error: ValidationError) -> PoisonRecord:
    """``error`` as a PoisonRecord; the first field decides the reason."""
    kind = error.errors(include_url=False, include_input=False)[0]["type"]
    # A field that must be None is one of a feature that is left out.
    known = {"missing": "missing_field", "none_required": "unknown_kind"}
    reason = known.get(kind, kind if kind in ("empty_key", "invalid_key") else "invalid_event")
    details = field_errors(model, error)
    return PoisonRecord(reason, f"{details[0].field} {details[0].message}", details=details)


_MESSAGES = {
    "missing": "is missing",
    "string_type": "is not a text",
    "string_too_short": "is too short",
    "string_too_long": "is too long",
    "string_unicode": "is not valid Unicode",
    "string_pattern_mismatch": "has another form",
    "list_type": "is not a list",
    "too_short": "has too few items",
    "too_long": "has too many items",
    "model_type": "is not an object",
    "literal_error": "is not one of the allowed values",
    "bool_type": "is not true or false",
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "finite_number": "is out of range",
    "greater_than": "is out of range",
    "less_than": "is out of range",
    "greater_than_equal": "is out of range",
    "less_than_equal": "is out of range",
    "int_parsing_size": "is out of range",
    "extra_forbidden": "is not a field of this event",
    "none_required": "is not a field of this event",
}


def sent_names(name: str, field: FieldInfo) -> list[str]:
    """The names under which clients may send a field, its own first."""
    names = field.validation_alias
    return [str(each) for each in names.choices] if isinstance(names, AliasChoices) else [field.alias or name]


def _path(parts: Sequence[str | int]) -> str:
    """The field of a value, such as ``attachments[0].name``; without the place of the value in its field."""
    last = max((at for at, part in enumerate(parts, 1) if isinstance(part, str)), default=0)
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in parts[:last]).removeprefix(".")


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names under which clients may send them."""
    return {sent: field for name, field in model.model_fields.items() for sent in sent_names(name, field)}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation such as ``list[Model]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each))), None)


def field_errors(model: type[BaseModel], error: ValidationError) -> list[FieldError]:
    """Pydantic's errors as field errors; ``allowed`` is the description of the field, or of one in its items.

    The context of a PydanticCustomError may override ``allowed``; with ``got: None`` no value is shown.
    """
    details, top = [], _fields(model)
    for problem in error.errors(include_url=False):
        context = problem.get("ctx", {})
        name = str(echo(_path(problem["loc"])) or "event")
        is_absent = problem["type"] == "missing" or context.get("got", True) is None
        message = _MESSAGES.get(problem["type"], problem["msg"])
        fields, allowed = top, None if problem["loc"] else "a JSON object"
        for part in problem["loc"]:
            if (field := fields.get(str(part))) is not None:  # other parts are places in lists, and kinds
                inner, allowed = _model_in(field.annotation), field.description
                fields = fields if inner is None else _fields(inner)
        if problem["type"] == "extra_forbidden":
            allowed = ", ".join(fields)
        got = None if is_absent else echo(problem["input"])
        details.append(FieldError(name, message, got, context.get("allowed", allowed)))
    return details
