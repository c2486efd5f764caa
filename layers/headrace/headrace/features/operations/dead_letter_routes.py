"""HTTP routes of dead letters: list, redrive, discard."""

from __future__ import annotations

import base64
import contextlib
import functools
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.fields import CanonicalTime, Number, accepts, whole_number
from headrace.features.operations.dead_letter import SHOWN_CHARACTERS, DeadLetterBody, Filter
from headrace.features.operations.dead_letter_texts import with_bodies
from headrace.features.operations.dead_letters import DeadLetters, RedriveState, ScanResult, discard_limit
from headrace.queues.dead_lane import TIMEOUT, DeadLane
from headrace.runtime.aws import client
from headrace.runtime.observability import audit
from headrace.runtime.settings import DeadLaneSettings, table_settings
from headrace.services.shared import clock, retry_lane
from headrace.stage.registry import STREAMS, screens

DEFAULT_LIMIT = 50
LIMIT = 200
DEFAULT_RATE = 100
RATE = 500
CONTINUATION_CHARACTERS = 4096
CONTINUATION_FORM = "what an earlier answer of this route gave, and nothing beside it"
ANSWER_CHARACTERS = 3_000_000
"""Characters of bodies in one answer: Lambda's limit is 6 MB, and a character may take two bytes or more."""


@functools.cache
def dead_letters() -> DeadLetters:
    lane = DeadLane(DeadLaneSettings.read().dead_letter_queue_url, client("sqs", timeout=TIMEOUT))
    tables = {name: table_settings(stream) for name, stream in STREAMS.items()}
    return DeadLetters(lane, retry_lane(), tables, clock(), screens())


_STATE = TypeAdapter(RedriveState)


def read_continuation(value: object) -> RedriveState:
    """The state in a continuation, as :func:`continuation` made it.

    Raises:
        PydanticCustomError: it is not one.
    """
    if isinstance(value, str) and len(value) <= CONTINUATION_CHARACTERS:
        with contextlib.suppress(ValueError):
            content = base64.b64decode(value, altchars=b"-_", validate=True)
            state = _STATE.validate_json(content, strict=True)
            if times.is_canonical(state.started_at) and 0 < state.rate <= RATE:
                return state
    raise PydanticCustomError("continuation", "is not usable")


WRITTEN_FLAG = BeforeValidator(lambda value: {"true": True, "false": False}.get(value, value))
"""For a flag of a query string, which has only texts."""
RATE_FORM = "messages per second, a whole number"


class ListQuery(Filter):
    """Which letters to list, how many of them, and whether with their bodies: the events that people sent."""

    limit: Number = whole_number(1, LIMIT, default=DEFAULT_LIMIT)
    bodies: Annotated[bool, WRITTEN_FLAG] = Field(default=False, description="true or false")

    @property
    def characters(self) -> int | None:
        """How much of each body is shown: ``None`` for none, and all of it for a single letter."""
        if not self.bodies:
            return None
        return SHOWN_CHARACTERS if self.id is None else ANSWER_CHARACTERS


class RedriveBody(Filter):
    """A new redrive, or the ``continuation`` of an earlier one, without any other field."""

    rate: Number = whole_number(1, RATE, RATE_FORM, default=DEFAULT_RATE)
    dry_run: bool = Field(default=False, description="true or false")
    continuation: Annotated[
        RedriveState | None,
        PlainValidator(read_continuation, json_schema_input_type=str),
        accepts(maxLength=CONTINUATION_CHARACTERS),
    ] = Field(default=None, description=CONTINUATION_FORM)

    @model_validator(mode="before")
    @classmethod
    def _is_alone(cls, given: dict[str, Any]) -> dict[str, Any]:
        if "continuation" in given and len(given) > 1:
            detail = FieldError("continuation", "is not usable", echo(given["continuation"]), CONTINUATION_FORM)
            raise InvalidRequest(details=[detail])
        return given


class DiscardBody(Filter):
    """Which letters to discard; ``confirm`` must be their number."""

    rate: Number = whole_number(1, RATE, RATE_FORM, default=RATE)
    dry_run: bool = Field(default=False, description="true or false")
    confirm: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="the number of letters that a dry run found"
    )


class Counts(TypedDict):
    """Counts of a scan: ``count`` of the ``scanned`` letters match; ``complete`` if the whole queue was read."""

    count: int
    scanned: int
    complete: bool
    reasons: dict[str, int]


class DeadLetterList(Counts):
    """Some of the letters that match, and counts of all of them: ``days`` by day (UTC) of the first failure."""

    days: dict[str, dict[str, int]]
    items: list[DeadLetterBody]


class DryRun(Counts):
    """The letters that a redrive or a discard would change."""

    dryRun: bool


class RedriveResult(TypedDict):
    """The progress of a redrive; the next request sends ``continuation``, which is null when no letter is left."""

    startedAt: CanonicalTime
    moved: int
    failed: int
    done: bool
    continuation: str | None


class DiscardResult(Counts):
    """How many of the letters that were found were deleted, and how many could not be."""

    discarded: int
    failed: int


def list_dead_letters(letters: DeadLetters, request: Request[None, ListQuery, None]) -> DeadLetterList:
    """List letters; ``bodies=true`` shows up to 2,000 characters of each body, and with ``id`` the whole body.

    Texts of deleted messages are left out, and ``textsWithheld`` counts them. It also counts those whose deletion could
    not be looked up: they are left out too.
    """
    query = request.query
    found = letters.find(query)
    shown = found.letters[: query.limit]
    if query.characters is None:
        items = [letter.to_body() for letter in shown]
    else:
        items = with_bodies(shown, query.characters, letters.screens)
        audit("bodies of dead letters were read", request.caller, filter=query.to_log(), count=len(items))
    return {"items": items, "days": found.days, **_counts(found)}


def redrive(letters: DeadLetters, request: Request[None, None, RedriveBody]) -> RedriveResult | DryRun:
    """Move letters back to the retry queue, for at most one slice of time."""
    body = request.body
    if body.dry_run:
        return {"dryRun": True, **_counts(letters.find(body))}
    before = body.continuation or letters.start(body, body.rate)
    audit("dead letters are being redriven", request.caller, filter=before.wanted.to_log())  # it may be cut off
    state = letters.redrive(before, request.meter)
    moved = state.moved - before.moved
    audit("dead letters were redriven", request.caller, filter=state.wanted.to_log(), moved=moved, failed=state.failed)
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
        return {"dryRun": True, **_counts(letters.find(body, discard_limit(body.rate)))}
    if body.confirm is not None:
        audit("dead letters are being discarded", request.caller, filter=body.to_log(), confirm=body.confirm)
    found, deleted = letters.discard(body, body.rate, body.confirm, request.meter)
    failed = len(found.letters) - deleted
    audit("dead letters were discarded", request.caller, filter=body.to_log(), discarded=deleted, failed=failed)
    return {"discarded": deleted, "failed": failed, **_counts(found)}


def continuation(state: RedriveState) -> str | None:
    """The text that a client sends to continue a redrive; ``None`` when it is done.

    It is not signed, because a caller who may redrive may redrive any letter.
    """
    if state.done:
        return None
    return base64.urlsafe_b64encode(_STATE.dump_json(state)).decode()


def _counts(found: ScanResult) -> Counts:
    return {
        "count": len(found.letters),
        "scanned": found.scanned,
        "complete": found.complete,
        "reasons": found.reasons,
    }
