"""What a request about dead letters asks for: read from a query string or a body, and refused field by field."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.operations.dead_letter import REASONS, UNKNOWN_STREAM, Filter
from headrace.operations.dead_letters import RedriveState
from headrace.streams.registry import STREAMS

DEFAULT_LIMIT = 50
LIMIT = 200
DEFAULT_RATE = 100
RATE = 500
ID_CHARACTERS = 128

T = TypeVar("T")

_FILTER = ("id", "reason", "stream", "from", "to")
_FORMS = {
    "id": f"the id of a dead letter, 1 to {ID_CHARACTERS} characters",
    "reason": ", ".join(sorted(REASONS)),
    "stream": ", ".join(sorted([*STREAMS, UNKNOWN_STREAM])),
    "from": times.ACCEPTED_FORM,
    "to": times.ACCEPTED_FORM,
    "limit": f"a whole number from 1 to {LIMIT}",
    "rate": f"messages per second, a whole number from 1 to {RATE}",
    "dryRun": "true or false",
    "confirm": "the number of letters that a dry run found",
    "continuation": "what an earlier answer of this route gave, and nothing beside it",
}


@dataclass(frozen=True, slots=True)
class ListRequest:
    """GET /dead-letters."""

    wanted: Filter
    limit: int


@dataclass(frozen=True, slots=True)
class RedriveRequest:
    """POST /dead-letters/redrive: a new one (dry or not), or one that goes on."""

    wanted: Filter
    rate: int
    dry_run: bool
    progress: RedriveState | None


@dataclass(frozen=True, slots=True)
class DiscardRequest:
    """POST /dead-letters/discard."""

    wanted: Filter
    rate: int
    dry_run: bool
    confirm: int | None


def list_request(query: Mapping[str, str] | None) -> ListRequest:
    """Read a query string.

    Raises:
        InvalidRequest: names every parameter that is wrong.
    """
    fields = _Fields(query or {}, (*_FILTER, "limit"))
    limit = fields.number("limit", DEFAULT_LIMIT, LIMIT)
    return fields.checked(ListRequest(fields.filter(), limit))


def redrive_request(body: Mapping[str, Any]) -> RedriveRequest:
    """Read a body.

    Raises:
        InvalidRequest: names every field that is wrong.
    """
    fields = _Fields(body, (*_FILTER, "rate", "dryRun", "continuation"))
    if "continuation" in body:
        progress = None if len(body) > 1 else read_continuation(body["continuation"])
        if progress is None:
            fields.wrong("continuation", "is not usable")
            progress = RedriveState("", Filter(), DEFAULT_RATE)
        return fields.checked(RedriveRequest(progress.wanted, progress.rate, False, progress))
    rate = fields.number("rate", DEFAULT_RATE, RATE)
    return fields.checked(RedriveRequest(fields.filter(), rate, fields.flag("dryRun"), None))


def discard_request(body: Mapping[str, Any]) -> DiscardRequest:
    """Read a body.

    Raises:
        InvalidRequest: names every field that is wrong.
    """
    fields = _Fields(body, (*_FILTER, "rate", "dryRun", "confirm"))
    rate = fields.number("rate", RATE, RATE)
    confirm = body.get("confirm")
    if confirm is not None and (not isinstance(confirm, int) or isinstance(confirm, bool) or confirm < 0):
        fields.wrong("confirm", "is not a number")
        confirm = None
    return fields.checked(DiscardRequest(fields.filter(), rate, fields.flag("dryRun"), confirm))


def continuation(progress: RedriveState) -> str | None:
    """What a client sends to go on with a redrive; ``None`` when it is done.

    It is not signed: whoever may redrive may as well redrive anything.
    """
    if progress.done:
        return None
    content = json.dumps(asdict(progress), ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(content).decode()


def read_continuation(text: object) -> RedriveState | None:
    """The progress in a continuation; ``None`` if it is none."""
    if not isinstance(text, str) or len(text) > 4096:
        return None
    try:
        content = json.loads(base64.b64decode(text.encode(), altchars=b"-_", validate=True))
        progress = RedriveState(**{**content, "wanted": Filter(**content["wanted"])})
    except (binascii.Error, ValueError, TypeError, KeyError, RecursionError):
        return None
    filters = [each for each in asdict(progress.wanted).values() if each is not None]
    numbers = (progress.rate, progress.moved, progress.failed, progress.idle)
    sound = (
        all(isinstance(each, str) for each in (progress.started_at, *filters))
        and all(isinstance(each, int) for each in numbers)
        and times.is_canonical(progress.started_at)
        and 0 < progress.rate <= RATE
    )
    return progress if sound else None


class _Fields:
    """Reads fields, and collects what is wrong with them."""

    def __init__(self, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        self._given = given
        allowed = ", ".join(known)
        self._errors = [
            FieldError(str(echo(name)), "is not a field of this route", echo(given[name]), allowed)
            for name in given
            if name not in known
        ]

    def wrong(self, name: str, message: str) -> None:
        self._errors.append(FieldError(name, message, echo(self._given[name]), _FORMS[name]))

    def checked(self, request: T) -> T:
        if self._errors:
            first = self._errors[0]
            raise InvalidRequest(f"{first.field} {first.message}", details=self._errors)
        return request

    def number(self, name: str, default: int, limit: int) -> int:
        value = self._given.get(name, default)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= limit:
            self.wrong(name, "is out of range")
            return default
        return value

    def flag(self, name: str) -> bool:
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            self.wrong(name, "is not true or false")
        return value is True

    def filter(self) -> Filter:
        since, until = self._time("from"), self._time("to")
        return Filter(
            id=self._text("id"),
            reason=self._one_of("reason", REASONS),
            stream=self._one_of("stream", {*STREAMS, UNKNOWN_STREAM}),
            since=since,
            until=until,
        )

    def _text(self, name: str) -> str | None:
        value = self._given.get(name)
        if value is not None and (not isinstance(value, str) or not 0 < len(value) <= ID_CHARACTERS):
            self.wrong(name, "is not usable")
            return None
        return value

    def _one_of(self, name: str, known: Mapping[str, str] | set[str]) -> str | None:
        value = self._given.get(name)
        if value is not None and (not isinstance(value, str) or value not in known):
            self.wrong(name, "is not known")
            return None
        return value

    def _time(self, name: str) -> str | None:
        value = self._given.get(name)
        if value is None:
            return None
        try:
            return times.parse_query(value) if isinstance(value, str) else times.parse(value)
        except ValueError:
            self.wrong(name, "is not a time with a zone")
            return None
