"""What a declared stream is, and the mistakes of a declaration."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic.alias_generators import to_camel
from pydantic_core import PydanticUndefined, ValidationError

from headrace.core.errors import ConfigurationError, FieldError, InvalidEvent
from headrace.declare import fields

NAME = re.compile(r"[a-z][a-z0-9-]{0,29}")
BUILT_IN = ("chat", "ski", "ads", "probe", "unknown")
RESERVED: tuple[str, ...] = ("event_id", "timestamp", "sender", "key", "events", "user_id", "expires_at")
RESERVED += ("stream_key", "timestamp_sk", "time_sk", "user_sk", "shard_id", "secret_fields")
"""Names that every event has, or that the platform keeps beside its fields."""
PARAMETERS: tuple[str, ...] = ("stream", "from", "to", "start", "end", "top", "step", "by")
PARAMETERS += ("limit", "max_bytes", "before", "after", "around", "cursor")
"""Names of parameters, which no field has by which events are read or counted."""
COUNTS_LIMIT, SUMS_LIMIT, DAYS_LIMIT = 5, 5, 36_500


class Refused(InvalidEvent):
    """What a ``check`` raises to refuse an event: ``Refused("held_ms", "is longer than the day", allowed="…")``."""

    def __init__(self, field: str, message: str, *, got: object = None, allowed: str | None = None) -> None:
        super().__init__(details=[FieldError(to_camel(field), message, got, allowed)])


@dataclass(frozen=True)
class Stream:
    """A stream of events of the model ``event``, which are read by the field ``key``.

    Windows are grouped by the key and the texts ``counts``, and sum the numbers ``sums``. Events are kept for
    ``keep_days``, or without limit if that is 0. They are sent by ``producers`` (scope events:write), or also by
    ``users`` about themselves. ``check(event)`` may raise :class:`Refused`. ``derive(event)`` returns values of fields,
    which replace those that were sent. With ``table="own"`` the stream has a separate table, named by the variable
    ``<NAME>_TABLE``.

    Raises:
        ConfigurationError: names what is wrong, and what is allowed.
    """

    name: str
    event: type[fields.Event]
    key: str
    counts: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    keep_days: int = 90
    senders: Literal["producers", "users"] = "producers"
    check: Callable[[Any], None] | None = None
    derive: Callable[[Any], Mapping[str, Any]] | None = None
    table: Literal["shared", "own"] = "shared"
    line: int = field(default=0, init=False, compare=False)
    """The line of the declaration, and the name of its file."""
    file: str = field(default="", init=False, compare=False)

    def __post_init__(self) -> None:
        declaring = sys._getframe(2)
        object.__setattr__(self, "line", declaring.f_lineno)
        object.__setattr__(self, "file", Path(declaring.f_code.co_filename).name)
        self._check_itself()
        for name, each in self.event.model_fields.items():
            self._check_field(name, each)
        users = [name for name, each in self.event.model_fields.items() if fields.has(each, fields.USER)]
        if len(users) > 1:
            raise self._wrong(users[1], "is a second User", "one field of the type User")
        self._check_names("key", (self.key,), "a required Id, which is no User", _is_key)
        allowed = f"up to {COUNTS_LIMIT} fields of texts, no Secret, and no User, which is counted anyway"
        self._check_names("counts", self.counts, allowed, _is_counted)
        self._check_names("sums", self.sums, f"up to {SUMS_LIMIT} fields of numbers", _is_summed)
        for name, most in (("counts", COUNTS_LIMIT), ("sums", SUMS_LIMIT)):
            if len(names := getattr(self, name)) > most or len({*names}) < len(names):
                raise self._wrong("", f"{name} has {len(names)} fields", f"up to {most}, each once")
        if self.senders == "users" and not users:
            raise self._wrong("", "senders is 'users', and no field is a User", "a field of the type User")

    @cached_property
    def user(self) -> str:
        """The field of the user, or ``""``."""
        found = (name for name, each in self.event.model_fields.items() if fields.has(each, fields.USER))
        return next(found, "")

    @property
    def counted(self) -> tuple[str, ...]:
        """What windows are grouped by: the key, and ``counts``."""
        return tuple(dict.fromkeys((self.key, *self.counts)))

    @cached_property
    def secrets(self) -> list[str]:
        """The fields of the type ``Secret``."""
        return [name for name, each in self.event.model_fields.items() if fields.has(each, fields.SECRET)]

    def _check_itself(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name) or self.name in BUILT_IN:
            allowed = f"1 to 30 lower-case letters, digits and '-', and not {', '.join(BUILT_IN)}"
            raise self._wrong("", f"the name is {self.name!r}", allowed)
        if not (inspect.isclass(self.event) and issubclass(self.event, fields.Event)):
            raise self._wrong("", f"the event is {self.event!r}", "a class that inherits from Event")
        for name, values in (("senders", ("producers", "users")), ("table", ("shared", "own"))):
            if getattr(self, name) not in values:
                raise self._wrong("", f"{name} is {getattr(self, name)!r}", " or ".join(values))
        for name in ("counts", "sums"):
            if not isinstance(getattr(self, name), tuple):
                raise self._wrong("", f"{name} is {getattr(self, name)!r}", 'a tuple of names, such as ("door",)')
        if type(self.keep_days) is not int or not 0 <= self.keep_days <= DAYS_LIMIT:
            raise self._wrong("", f"keep_days is {self.keep_days!r}", f"a whole number from 0 to {DAYS_LIMIT}")
        for name in ("check", "derive"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise self._wrong("", f"{name} is {getattr(self, name)!r}", "a function")

    def _check_field(self, name: str, each: Any) -> None:
        if name in RESERVED:
            raise self._wrong(name, "is a name that the platform uses", f"a name other than {', '.join(RESERVED)}")
        if fields.type_of(each) is None:
            raise self._wrong(name, f"is a {each.annotation}", fields.TYPES)
        if each.alias != self.event.model_config["alias_generator"](name):  # type: ignore[operator,misc]
            raise self._wrong(name, "has an alias", "the name alone, which clients write in camelCase")
        if fields.has(each, fields.USER) and (not each.is_required() or fields.is_optional(each)):
            raise self._wrong(name, "is a User that may be absent", "badge: User")
        if (most := fields.bound(each, "max_length")) is not None and most > fields.LONGEST_TEXT:
            raise self._wrong(name, f"has up to {most} characters", f"a max_length up to {fields.LONGEST_TEXT}")
        default = each.get_default(call_default_factory=False)
        if each.default_factory is not None:
            raise self._wrong(name, "has a default_factory", "a default that is a value")
        if default is not PydanticUndefined and not (default is None and fields.is_optional(each)):
            self._check_default(name, default)

    def _check_default(self, name: str, default: object) -> None:
        try:
            self.event.__pydantic_validator__.validate_assignment(self.event.model_construct(), name, default)
        except ValidationError:
            form = fields.form(self.event.model_fields[name])
            raise self._wrong(name, f"has the default {default!r}, which it refuses", form) from None

    def _check_names(self, what: str, names: tuple[str, ...], allowed: str, fits: Callable[[Any], bool]) -> None:
        for name in names:
            if name not in self.event.model_fields:
                known = ", ".join(self.event.model_fields)
                raise self._wrong("", f"{what}: {name!r} is no field of {self.event.__name__}", known)
            if not fits(self.event.model_fields[name]):
                raise self._wrong(name, f"cannot be in {what}", allowed)
            if what != "sums" and name in PARAMETERS:
                raise self._wrong(name, f"cannot be in {what}", f"a name other than {', '.join(PARAMETERS)}")

    def _wrong(self, name: str, message: str, allowed: str) -> DeclarationError:
        """The error of the declaration, or of its field ``name``."""
        return DeclarationError(_line_of(self.event, name) or self.line, f"{name} {message}".strip(), allowed)


class DeclarationError(ConfigurationError):
    """A mistake in a ``line`` of a declaration."""

    def __init__(self, line: int, message: str, allowed: str) -> None:
        super().__init__(f"{message}; allowed: {allowed}")
        self.line = line


def _is_key(each: Any) -> bool:
    is_id = fields.has(each, fields.ID) and not fields.has(each, fields.USER)
    return is_id and each.is_required() and not fields.is_optional(each)


def _is_counted(each: Any) -> bool:
    return fields.is_text(each) and not fields.has(each, fields.SECRET) and not fields.has(each, fields.USER)


def _is_summed(each: Any) -> bool:
    return fields.type_of(each) in (int, float)


def _line_of(event: Any, name: str) -> int:
    """The line of a field in its class; 0 if there is no such line."""
    try:
        lines, first = inspect.getsourcelines(event)
    except (OSError, TypeError):
        return 0
    found = (at for at, line in enumerate(lines, first) if name and re.match(rf"\s+{name}\s*[:=]", line))
    return next(found, 0)
