"""Examines a dead letter: why it is dead (by the validator of persist_events), of which stream, and since when."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NotRequired, cast

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.core import times
from headrace.core.envelope import CORRELATION_ID
from headrace.core.errors import POISON_REASONS, PoisonRecord
from headrace.core.fields import CanonicalTime, Time, accepts
from headrace.core.stream import TableSettings
from headrace.delivery.records import ATTEMPTS, THROTTLED_SINCE, UNKNOWN_STREAM, attempts, rows_of
from headrace.delivery.retry_schedule import RECEIVES
from headrace.queues.dead_lane import ReceivedLetter
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import BASE64, ENCODING, from_text
from headrace.stage.registry import STREAMS

STORABLE = "storable"
UNEXPECTED = "unexpected"
REASONS = {
    **POISON_REASONS,
    STORABLE: "it would be stored now",
    UNEXPECTED: "the validator itself fails on it",
}
"""Why a record is dead, as examined now: code to one plain sentence."""

REASON_NAMES = sorted(REASONS)
STREAM_NAMES = sorted([*STREAMS, UNKNOWN_STREAM])
ID_CHARACTERS = 128
SHOWN_CHARACTERS = 2000
SHOWN_NAME = 64
FIRST_FAILED = "firstFailedAt"
REDRIVEN = "redrivenAt"


class WithheldTexts(TypedDict):
    """How many texts a body is shown without: of ``deleted`` messages, and of those whose look-up failed."""

    deleted: int
    unchecked: int


class DeadLetterBody(TypedDict):
    """A dead letter in an answer. ``bodyCharacters`` is the length of the record in the queue."""

    id: str
    reason: str
    message: str
    stream: str
    lane: str
    attempts: int
    received: int
    firstFailedAt: CanonicalTime
    lastSentAt: CanonicalTime
    events: int
    bodyCharacters: int
    body: NotRequired[str]
    textsWithheld: NotRequired[WithheldTexts]
    recordedReason: NotRequired[str]
    encoding: NotRequired[str]
    redrivenAt: NotRequired[CanonicalTime]
    correlationId: NotRequired[str]
    acceptedAt: NotRequired[CanonicalTime]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead record and the result of its examination. ``stream`` is a declared one or ``unknown``."""

    held: ReceivedLetter
    reason: str
    message: str
    stream: str
    events: int
    envelope: Mapping[str, Any]

    @property
    def first_failed_at(self) -> str:
        """When it failed for the first time, if known, else when it entered the retry lane."""
        given = self.held.attributes.get(FIRST_FAILED, "")
        return given if times.is_canonical(given) else times.iso(self.held.sent_at)

    @property
    def correlation_id(self) -> str:
        """The correlation id of its request: of the envelope, or of the record's attribute if that cannot be read."""
        given = self.envelope.get("correlationId")
        return given[:SHOWN_NAME] if isinstance(given, str) else self.held.attributes.get(CORRELATION_ID, "")

    @property
    def attempts(self) -> int:
        """The number of attempts to store it: those of its last time in the retry lane, and those before."""
        return RECEIVES + attempts(self.held.attributes)

    def to_body(self) -> DeadLetterBody:
        """The letter as an answer shows it, without its body."""
        body: dict[str, Any] = {
            "id": self.held.id,
            "reason": self.reason,
            "message": self.message,
            "stream": self.stream,
            "lane": self.held.attributes.get("lane", "retry")[:SHOWN_NAME],
            "attempts": self.attempts,
            "received": self.held.received,
            "firstFailedAt": self.first_failed_at,
            "lastSentAt": times.iso(self.held.sent_at),
            "events": self.events,
            "bodyCharacters": len(self.held.body),
        }
        names = {
            "recordedReason": self.held.attributes.get("reason"),
            "encoding": self.held.attributes.get(ENCODING),
            "correlationId": self.correlation_id or None,
        }
        body |= {name: value[:SHOWN_NAME] for name, value in names.items() if isinstance(value, str)}
        moments = {REDRIVEN: self.held.attributes.get(REDRIVEN), "acceptedAt": self.envelope.get("acceptedAt")}
        # Anybody may have written the record: what is no time is left out.
        body |= {name: value for name, value in moments.items() if isinstance(value, str) and times.is_canonical(value)}
        return cast(DeadLetterBody, body)

    def retry_record(self, redriven_at: str) -> RetryRecord:
        """The record for the retry lane: the same bytes, with its attempts and first failure."""
        new = (ENCODING, THROTTLED_SINCE)
        attributes = {name: value for name, value in self.held.attributes.items() if name not in new}
        attributes |= {ATTEMPTS: str(self.attempts), FIRST_FAILED: self.first_failed_at, REDRIVEN: redriven_at}
        encoding = self.held.attributes.get(ENCODING)
        try:
            return RetryRecord(from_text(self.held.body, encoding), attributes)
        except PoisonRecord:
            # Marked as base64, but it is not: it is sent unchanged, so that its reason stays the same.
            return RetryRecord(self.held.body.encode(), {**attributes, ENCODING: BASE64})


def _known(value: str, names: Sequence[str]) -> str:
    if value not in names:
        raise PydanticCustomError("unknown", "is not known")
    return value


Reason = Annotated[str, AfterValidator(partial(_known, names=REASON_NAMES)), accepts(enum=REASON_NAMES)]
StreamName = Annotated[str, AfterValidator(partial(_known, names=STREAM_NAMES)), accepts(enum=STREAM_NAMES)]


class Filter(Params):
    """Selects letters; ``from`` (inclusive) and ``to`` (exclusive) are times of the first failure."""

    unknown = "is not a field of this route"
    keeps_null = True

    id: Annotated[str, Field(min_length=1, max_length=ID_CHARACTERS)] | None = Field(
        default=None, description=f"the id of a dead letter, 1 to {ID_CHARACTERS} characters"
    )
    reason: Reason | None = Field(default=None, description=", ".join(REASON_NAMES))
    stream: StreamName | None = Field(default=None, description=", ".join(STREAM_NAMES))
    since: Time | None = Field(default=None, alias="from", description=times.ACCEPTED_FORM)
    until: Time | None = Field(default=None, alias="to", description=times.ACCEPTED_FORM)

    def matches(self, letter: DeadLetter) -> bool:
        """Whether the filter selects ``letter``."""
        return (
            self.id in (None, letter.held.id)
            and self.reason in (None, letter.reason)
            and self.stream in (None, letter.stream)
            and (self.since is None or self.since <= letter.first_failed_at)
            and (self.until is None or letter.first_failed_at < self.until)
        )

    def to_log(self) -> dict[str, Any]:
        """Its fields for a log line, without those of a route."""
        return self.model_dump(include=set(Filter.model_fields))


def examine(held: ReceivedLetter, tables: Mapping[str, TableSettings]) -> DeadLetter:
    """Run ``held`` through the validator that persist_events uses. Never raises."""
    envelope = _envelope(held)
    events = envelope.get("events")
    count = len(events) if isinstance(events, list) and events else 1
    named = envelope.get("stream")
    stream = named if isinstance(named, str) and named in STREAMS else UNKNOWN_STREAM
    reason, message = STORABLE, REASONS[STORABLE]
    try:
        record = rows_of(from_text(held.body, held.attributes.get(ENCODING)), tables)
        poison = next((row.poison for row in record.rows if row.poison is not None), None)
        if poison is not None:
            raise poison
    except PoisonRecord as error:
        reason = error.reason
        message = error.message if error.message != reason else REASONS[reason]
    except Exception as error:  # noqa: BLE001 - any failure is shown, and the record can be discarded
        reason, message = UNEXPECTED, f"{REASONS[UNEXPECTED]}: {type(error).__name__}"
    return DeadLetter(held, reason, message, stream, count, envelope)


def _envelope(held: ReceivedLetter) -> Mapping[str, Any]:
    """The envelope if it can be read, for display only; the validator decides independently."""
    try:
        content = json.loads(from_text(held.body, held.attributes.get(ENCODING)))
    except (PoisonRecord, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
