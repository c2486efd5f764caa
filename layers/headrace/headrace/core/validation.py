"""Validates events against their models; errors name each invalid field, its value and its accepted form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from headrace.core.errors import FieldError, InvalidEvent, PoisonRecord, echo

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


def invalid_event(model: type[BaseModel], error: ValidationError) -> InvalidEvent:
    """``error`` as an InvalidEvent that names each field, its value and its accepted form."""
    details = field_errors(model, error)
    return InvalidEvent(f"{details[0].field} {details[0].message}", details=details)


def poison(model: type[BaseModel], error: ValidationError) -> PoisonRecord:
    """``error`` as a PoisonRecord; the first field decides the reason."""
    kind = error.errors(include_url=False, include_input=False)[0]["type"]
    reason = {"missing": "missing_field", "empty_key": "empty_key", "invalid_key": "invalid_key"}.get(kind)
    details = field_errors(model, error)
    return PoisonRecord(reason or "invalid_event", f"{details[0].field} {details[0].message}", details=details)


_MESSAGES = {
    "missing": "is missing",
    "string_type": "is not a text",
    "string_too_short": "is too short",
    "string_too_long": "is too long",
    "string_unicode": "is not valid Unicode",
    "model_type": "is not an object",
    "literal_error": "is not one of the allowed values",
    "bool_type": "is not true or false",
    "int_type": "is not a whole number",
    "greater_than_equal": "is out of range",
    "less_than_equal": "is out of range",
    "int_parsing_size": "is out of range",
    "extra_forbidden": "is not a field of this event",
}


def field_errors(model: type[BaseModel], error: ValidationError) -> list[FieldError]:
    """Pydantic's errors as field errors; ``allowed`` is the field's description.

    The context of a PydanticCustomError may override ``allowed``; with ``got: None`` no value is shown.
    """
    forms = {found.alias or name: found.description for name, found in model.model_fields.items()}
    details = []
    for problem in error.errors(include_url=False):
        context = problem.get("ctx", {})
        name = str(echo(".".join(part for part in problem["loc"] if isinstance(part, str))) or "event")
        is_absent = problem["type"] == "missing" or context.get("got", True) is None
        message = _MESSAGES.get(problem["type"], problem["msg"])
        allowed = forms.get(str(problem["loc"][0])) if problem["loc"] else "a JSON object"
        if problem["type"] == "extra_forbidden":
            allowed = ", ".join(forms)
        got = None if is_absent else echo(problem["input"])
        details.append(FieldError(name, message, got, context.get("allowed", allowed)))
    return details
