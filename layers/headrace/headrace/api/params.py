"""Models of a request's parameters: its path, its query string, its body or frame.

    class RoomPath(Params):
        refusal = "{field} is not a usable id"
        room_id: Id = Field(description=ID_FORM)

Clients write ``roomId``. A field's ``description`` is its accepted form. The answer to a wrong value quotes it, beside
the value that was sent.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from headrace.core import json
from headrace.core.errors import FieldError, InvalidRequest, NotFound, TooLarge, UnsupportedMediaType, echo
from headrace.core.fields import Id, field_errors
from headrace.core.keys import ID_FORM

T = TypeVar("T", bound="Params")
_NAME = re.compile(r"(?<={)\w+(?=})")


class Params(BaseModel):
    """Base of parameter models. Types are strict, and unknown fields are refused. A model is compiled when first used.

    ``refusal`` is the message of the answer to a wrong request; ``{field}`` and ``{message}`` stand for the first wrong
    field. ``unknown`` is the message for a field that the model does not have. A body with ``is_optional`` may be left
    out. ``null`` means that a field is not given, unless the model ``keeps_null``.
    """

    model_config = ConfigDict(
        strict=True, frozen=True, populate_by_name=True, alias_generator=to_camel, extra="forbid", defer_build=True
    )

    refusal: ClassVar[str] = "{field} {message}"
    unknown: ClassVar[str] = "is not a parameter of this route"
    is_optional: ClassVar[bool] = False
    keeps_null: ClassVar[bool] = False


class AnyBody(Params):
    """Any JSON object: the route's function reads it from ``request.content``, and ``request.body`` is ``None``.

    As the model of a query, any parameters, which the function reads from ``request.event``. Fields of a subclass are
    for the documents.
    """

    model_config = ConfigDict(extra="allow")


class NoFields(Params):
    """A frame without fields besides its action and its ``requestId``."""

    unknown = "is not a field of this action"


class NoBody(Params):
    """The body of a route that needs none: ``{}``, or left out."""

    unknown = "is not a field of this route"
    is_optional = True


class UserPath(Params):
    """A user."""

    refusal = "{field} is not a usable id"

    user_id: Id = Field(description=ID_FORM)


@functools.cache
def names_of(model: type[Params]) -> tuple[list[str], set[str]]:
    """The names of a model's fields as clients write them, in order, and those that are optional.

    Fields with ``exclude`` are not for clients.
    """
    fields = {field.alias or name: field for name, field in model.model_fields.items() if not field.exclude}
    return list(fields), {name for name, field in fields.items() if not field.is_required()}


def read(model: type[T] | None, given: Mapping[str, Any] | None) -> T | None:
    """``given`` as a ``model``; ``None`` if ``model`` is ``None``, or one of :class:`AnyBody`.

    Raises:
        InvalidRequest: names every wrong field, its value, and its accepted form.
    """
    if model is None or issubclass(model, AnyBody):
        return None
    names, optional = names_of(model)
    values = {
        name: value
        for name, value in (given or {}).items()
        if value is not None or model.keeps_null or name not in optional
    }
    wrong = [
        FieldError(str(echo(name)), model.unknown, echo(value), ", ".join(names) or "no further field")
        for name, value in values.items()
        if name not in names
    ]
    try:
        found = model.model_validate({name: value for name, value in values.items() if name in names})
    except ValidationError as error:
        wrong += field_errors(model, error)
    if wrong:
        message = model.refusal.format(field=wrong[0].field, message=wrong[0].message)
        raise InvalidRequest(message, details=wrong)
    return found


def path_names(routes: Collection[str]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Returns a function that renames the path parameters of an HTTP API's event to those of ``routes``."""
    keys = {_NAME.sub("", key): key for key in routes}

    def with_names(event: Mapping[str, Any]) -> Mapping[str, Any]:
        sent = str(event.get("routeKey", ""))
        if sent in routes or (key := keys.get(_NAME.sub("", sent))) is None:
            return event
        names = dict(zip(_NAME.findall(sent), _NAME.findall(key), strict=True))
        given = {names[name]: value for name, value in event["pathParameters"].items()}
        return {**event, "routeKey": key, "pathParameters": given}

    return with_names


def path_parameters(key: str, event: Mapping[str, Any]) -> Mapping[str, str] | None:
    """The parameters in the path of an HTTP API's event; ``key`` is its route, such as ``PUT /rooms/{roomId}``.

    Each parameter must be a part of the path. The path ``rooms/a%2Fmembers%2Fb`` names one room, but if it is decoded
    before it is routed, it names a member of another room.

    Raises:
        NotFound: the path has other parts.
    """
    given: Mapping[str, str] | None = event.get("pathParameters")
    path = event.get("rawPath")
    if given and path is not None:
        routed = key.partition(" ")[2].format_map(given)
        if not path.endswith(routed) and not _is_end_of(path.split("/"), routed.split("/")[1:]):
            raise NotFound("there is no such route: an id in a path has no '/' and no '?'")
    return given


def _is_end_of(path: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether ``path`` ends with ``parts``. Either may be encoded: AWS does not say which."""
    end = path[-len(parts) :]
    return len(end) == len(parts) and all(
        part in (found, unquote(found)) or unquote(part) == found for found, part in zip(end, parts, strict=True)
    )


JSON_TYPES = ("application/json", "application/x-www-form-urlencoded")
"""A body may have these content types, any ``+json``, or none. curl sends the second one with ``-d``."""
HEAD_FIELDS = ("action", "requestId")
"""The fields that a frame of any action may have, beside those of the action."""


def parse_object(body: str | None, what: str) -> dict[str, Any]:
    """The JSON object in ``body``; ``what`` names it in errors.

    Raises:
        InvalidRequest: not JSON, or not an object.
    """
    try:
        content = json.decode(body or "")
    except (ValueError, RecursionError):
        raise InvalidRequest(f"the {what} is not JSON") from None
    if not isinstance(content, dict):
        detail = FieldError(what, "is not a JSON object", echo(content), "a JSON object")
        raise InvalidRequest(f"the {what} is not a JSON object", details=[detail])
    return content


def own_fields(frame: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a frame's action: all but ``HEAD_FIELDS``."""
    return {name: value for name, value in frame.items() if name not in HEAD_FIELDS}


def frame_fields(
    frame: Mapping[str, Any], body: type[Params] | None, query: type[Params] | None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The fields of a frame's action: those of the ``body``, and all others as the ``query``'s, if it has a model."""
    if query is None:
        return own_fields(frame) if body else {}, None
    own = own_fields(frame)
    names = names_of(body)[0] if body else []
    others = {name: value for name, value in own.items() if name not in names}
    return {name: own[name] for name in names if name in own}, others


def http_body(event: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object in an HTTP API event's body.

    Raises:
        InvalidRequest: not text, not JSON, or not an object.
        UnsupportedMediaType: its content type is of something else.
    """
    _check_content_type(event.get("headers") or {})
    body = event.get("body")
    if body and event.get("isBase64Encoded"):
        try:
            body = base64.b64decode(body, validate=True).decode()
        except (binascii.Error, ValueError):
            raise InvalidRequest("the body is not UTF-8") from None
    return parse_object(body, "body")


def _check_content_type(headers: Mapping[str, str]) -> None:
    given = headers.get("content-type", "")
    kind = given.partition(";")[0].strip().lower()
    if kind and kind not in JSON_TYPES and not kind.endswith("+json"):
        detail = FieldError("content-type", "is not JSON", echo(given), "application/json, or none")
        raise UnsupportedMediaType("the body's content type is not JSON", details=[detail])


def event_list(content: Mapping[str, Any], limit: int, beside: Collection[str] = ()) -> list[object]:
    """The 1 to ``limit`` events in ``content["events"]``. Fields that are named in ``beside`` may be in it too.

    Raises:
        InvalidRequest: the array is missing or empty, or there is an unknown field.
        TooLarge: there are more events than ``limit``.
    """
    unknown = [name for name in content if name != "events" and name not in beside]
    if unknown:
        message = "is not a field of a batch"
        raise InvalidRequest(
            details=[FieldError(str(echo(name)), message, echo(content[name]), "events") for name in unknown]
        )
    events = content.get("events")
    allowed = f"an array of 1 to {limit} events"
    if not isinstance(events, list) or not events:
        message = "is missing" if events is None else "is not an array of events"
        raise InvalidRequest(details=[FieldError("events", message, echo(events), allowed)])
    if len(events) > limit:
        detail = FieldError("events", "has too many events", len(events), allowed)
        raise TooLarge(f"at most {limit} events are accepted at once", details=[detail])
    return events
