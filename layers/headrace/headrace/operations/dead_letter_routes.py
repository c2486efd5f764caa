"""HTTP routes of dead letters: list, redrive, discard."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from headrace.api.params import Params, whole_number
from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.operations.dead_letter import REASONS, SHOWN_CHARACTERS, UNKNOWN_STREAM, DeadLetterBody, Filter
from headrace.operations.dead_letters import DeadLetters, RedriveState, ScanResult, discard_limit
from headrace.streams.registry import STREAMS

DEFAULT_LIMIT = 50
LIMIT = 200
DEFAULT_RATE = 100
RATE = 500
ID_CHARACTERS = 128
CONTINUATION_CHARACTERS = 4096
CONTINUATION_FORM = "what an earlier answer of this route gave, and nothing beside it"
ANSWER_CHARACTERS = 3_000_000
"""Characters of bodies in one answer: Lambda takes 6 MB, and a character may become two bytes and more."""


def _id(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= ID_CHARACTERS:
        raise PydanticCustomError("id", "is not usable")
    return value


def _reason(value: object) -> str:
    if not isinstance(value, str) or value not in REASONS:
        raise PydanticCustomError("reason", "is not known")
    return value


def _stream(value: object) -> str:
    if not isinstance(value, str) or value not in {*STREAMS, UNKNOWN_STREAM}:
        raise PydanticCustomError("stream", "is not known")
    return value


def _time(value: object) -> str:
    try:
        return times.parse_query(value) if isinstance(value, str) else times.parse(value)
    except ValueError:
        raise PydanticCustomError("time", "is not a time with a zone") from None


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise PydanticCustomError("flag", "is not true or false")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise PydanticCustomError("count", "is not a number")
    return value


def _state(value: object) -> RedriveState:
    state = read_continuation(value)
    if state is None:
        raise PydanticCustomError("continuation", "is not usable")
    return state


Time = Annotated[str, BeforeValidator(_time)]
Rate = Annotated[int, BeforeValidator(whole_number(1, RATE))]
Flag = Annotated[bool, BeforeValidator(_flag)]
RATE_FORM = f"messages per second, a whole number from 1 to {RATE}"


class FilterParams(Params):
    """The letters that a request is about; ``from`` (inclusive) and ``to`` (exclusive) are times of a first failure."""

    unknown = "is not a field of this route"
    keeps_null = True

    id: Annotated[str, BeforeValidator(_id)] | None = Field(
        default=None, description=f"the id of a dead letter, 1 to {ID_CHARACTERS} characters"
    )
    reason: Annotated[str, BeforeValidator(_reason)] | None = Field(
        default=None, description=", ".join(sorted(REASONS))
    )
    stream: Annotated[str, BeforeValidator(_stream)] | None = Field(
        default=None, description=", ".join(sorted([*STREAMS, UNKNOWN_STREAM]))
    )
    since: Time | None = Field(default=None, alias="from", description=times.ACCEPTED_FORM)
    until: Time | None = Field(default=None, alias="to", description=times.ACCEPTED_FORM)

    @property
    def filter(self) -> Filter:
        """The filter of the letters."""
        return Filter(id=self.id, reason=self.reason, stream=self.stream, since=self.since, until=self.until)


class ListQuery(FilterParams):
    """Which letters to list, and how many of them."""

    limit: Annotated[int, BeforeValidator(whole_number(1, LIMIT))] = Field(
        default=DEFAULT_LIMIT, description=f"a whole number from 1 to {LIMIT}"
    )


class RedriveBody(FilterParams):
    """A new redrive, or the ``continuation`` of an earlier one, without any other field."""

    rate: Rate = Field(default=DEFAULT_RATE, description=RATE_FORM)
    dry_run: Flag = Field(default=False, description="true or false")
    continuation: Annotated[RedriveState | None, PlainValidator(_state, json_schema_input_type=str)] = Field(
        default=None, description=CONTINUATION_FORM
    )

    @model_validator(mode="before")
    @classmethod
    def _is_alone(cls, given: dict[str, Any]) -> dict[str, Any]:
        if "continuation" in given and len(given) > 1:
            detail = FieldError("continuation", "is not usable", echo(given["continuation"]), CONTINUATION_FORM)
            raise InvalidRequest("continuation is not usable", details=[detail])
        return given


class DiscardBody(FilterParams):
    """Which letters to discard; ``confirm`` must be their number."""

    rate: Rate = Field(default=RATE, description=RATE_FORM)
    dry_run: Flag = Field(default=False, description="true or false")
    confirm: Annotated[int, BeforeValidator(_count)] | None = Field(
        default=None, description="the number of letters that a dry run found"
    )


class Counts(TypedDict):
    """What a scan found: ``count`` letters that match of ``scanned``; ``complete`` when the whole queue was read."""

    count: int
    scanned: int
    complete: bool
    reasons: dict[str, int]


class DeadLetterList(Counts):
    """Some of the letters that match, and counts of all of them."""

    items: list[DeadLetterBody]


class DryRun(Counts):
    """The letters that a redrive or a discard would change."""

    dryRun: bool


class RedriveResult(TypedDict):
    """How far a redrive is; ``continuation`` goes on with it, and is null when no letter is left."""

    startedAt: str
    moved: int
    failed: int
    done: bool
    continuation: str | None


class DiscardResult(Counts):
    """How many letters were deleted, and how many of those found could not be."""

    discarded: int
    failed: int


def list_dead_letters(letters: DeadLetters, request: Request[None, ListQuery, None]) -> DeadLetterList:
    """List letters; one that is asked for by its id is shown whole."""
    found = letters.find(request.query.filter)
    characters = SHOWN_CHARACTERS if request.query.id is None else ANSWER_CHARACTERS
    items = [letter.to_body(characters) for letter in found.letters[: request.query.limit]]
    return {"items": items, **_counts(found)}


def redrive(letters: DeadLetters, request: Request[None, None, RedriveBody]) -> RedriveResult | DryRun:
    """Move letters back to the retry queue for one slice of time."""
    body = request.body
    if body.dry_run:
        return {"dryRun": True, **_counts(letters.find(body.filter))}
    state = letters.redrive(body.continuation or letters.start(body.filter, body.rate), request.meter)
    return {
        "startedAt": state.started_at,
        "moved": state.moved,
        "failed": state.failed,
        "done": state.done,
        "continuation": continuation(state),
    }


def discard(letters: DeadLetters, request: Request[None, None, DiscardBody]) -> DiscardResult | DryRun:
    """Delete letters, if their number is confirmed."""
    body = request.body
    if body.dry_run:
        return {"dryRun": True, **_counts(letters.find(body.filter, discard_limit(body.rate)))}
    found, deleted = letters.discard(body.filter, body.rate, body.confirm, request.meter)
    return {"discarded": deleted, "failed": len(found.letters) - deleted, **_counts(found)}


def continuation(state: RedriveState) -> str | None:
    """What a client sends to go on with a redrive; ``None`` when it is done.

    It is not signed: a caller who may redrive may redrive any letter.
    """
    if state.done:
        return None
    content = json.dumps(asdict(state), ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(content).decode()


def read_continuation(text: object) -> RedriveState | None:
    """The state in a continuation; ``None`` if ``text`` is not one."""
    if not isinstance(text, str) or len(text) > CONTINUATION_CHARACTERS:
        return None
    try:
        content = json.loads(base64.b64decode(text.encode(), altchars=b"-_", validate=True))
        state = RedriveState(**{**content, "wanted": Filter(**content["wanted"])})
    except (binascii.Error, ValueError, TypeError, KeyError, RecursionError):
        return None
    filters = [each for each in asdict(state.wanted).values() if each is not None]
    numbers = (state.rate, state.moved, state.failed, state.idle)
    is_sound = (
        all(isinstance(each, str) for each in (state.started_at, *filters))
        and all(isinstance(each, int) for each in numbers)
        and times.is_canonical(state.started_at)
        and 0 < state.rate <= RATE
    )
    return state if is_sound else None


def _counts(found: ScanResult) -> Counts:
    return {
        "count": len(found.letters),
        "scanned": found.scanned,
        "complete": found.complete,
        "reasons": found.reasons,
    }
