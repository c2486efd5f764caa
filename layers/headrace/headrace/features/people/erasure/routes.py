"""The routes that erase a user, for operators and for users themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.params import Params, UserPath
from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import Conflict, FieldError, InvalidRequest, NotFound, echo
from headrace.core.fields import CanonicalTime, StoredId, whole_number
from headrace.core.keys import STORED_ID_FORM
from headrace.core.people import SKIERS
from headrace.features.people.erasures import DynamoErasures, Task, erasure_queue, erasures
from headrace.features.people.hashes import SKIER, USER, Person, PersonHashes, person_hashes
from headrace.features.people.jobs import DONE, Job, TaskQueue, requested
from headrace.runtime.observability import audit

BACKUP_DAYS = 35
"""Days for which point-in-time recovery keeps what a table had."""


@dataclass(frozen=True)
class ErasureServices:
    """What the routes use."""

    erasures: DynamoErasures
    queue: TaskQueue
    hashes: PersonHashes


class EraseBody(Params):
    """The skier that the user is, if any. Nothing else in Headrace says who a skier is."""

    skier_id: int | None = whole_number(*SKIERS, default=None, alias="skierID")


class OwnEraseBody(Params):
    """Says that the request is meant."""

    confirm: StoredId = Field(description=f"your own user id: {STORED_ID_FORM}")


class Progress(TypedDict):
    """The progress of an erasure.

    What was accepted until ``erasedAt`` is erased, or will not be stored, and so is what comes until ``doneAt``.
    ``state`` is ``running`` until a second round has found what was on its way, about three minutes later. ``counts``
    are of rows, and of events in the dead-letter queue; a step that is repeated can count some twice.
    ``unreadableDeadLetters`` are letters that could not be read, and are kept: an operator looks at them. Copies in
    point-in-time recovery are gone at ``backupsUntil``.
    """

    state: Literal["running", "done"]
    erasedAt: CanonicalTime
    doneAt: NotRequired[CanonicalTime]
    backupsUntil: CanonicalTime
    counts: dict[str, int]


class ErasureBody(Progress):
    """The erasure of a user."""

    userId: str


def erase(services: ErasureServices, request: Request[UserPath, None, EraseBody]) -> ErasureBody:
    """Erase a user, and the skier that the user is.

    It cannot be undone. Repeated while it runs, it is the same erasure. Later, it erases what has come since.
    """
    user_id, skier_id = request.path.user_id, request.body.skier_id
    erased = _erase(services, request.now, user_id, None if skier_id is None else str(skier_id))
    key = services.hashes.key(Person(USER, user_id))
    audit("a user is erased", request.caller, person=key, skier=skier_id is not None)
    return erased


def show_erasure(services: ErasureServices, request: Request[UserPath, None, None]) -> ErasureBody:
    """Show the progress of the last erasure of a user."""
    return _shown(services, request.path.user_id)


def erase_own(services: ErasureServices, request: Request[None, None, OwnEraseBody]) -> ErasureBody:
    """Erase the token's user.

    It cannot be undone. The token stays valid: what its user sends after ``doneAt`` is kept.
    """
    user_id, confirmed = request.caller.subject, request.body.confirm
    if confirmed != user_id:
        detail = FieldError("confirm", "is not your user id", echo(confirmed), "the token's own user id")
        raise InvalidRequest("nothing is erased: confirm must be your own user id", details=[detail])
    return _erase(services, request.now, user_id, None)


def show_own_erasure(services: ErasureServices, request: Request[None, None, None]) -> ErasureBody:
    """Show the progress of the last erasure of the token's user."""
    return _shown(services, request.caller.subject)


def services() -> ErasureServices:
    """What the routes use on this stage."""
    return ErasureServices(erasures(), erasure_queue(), person_hashes())


def _erase(services: ErasureServices, now: int, user_id: str, skier_id: str | None) -> ErasureBody:
    key = services.hashes.key(Person(USER, user_id))
    skier = None if skier_id is None else services.hashes.key(Person(SKIER, skier_id))
    asked = services.erasures, services.queue, key, now, skier
    erasure = requested(*asked, lambda at: Task(user_id, skier_id, at))
    if skier is not None and erasure.beside != skier:
        detail = FieldError("skierID", "is not part of the erasure that runs", skier_id, "left out until it is done")
        raise Conflict("the user is being erased without this skier; send it again when that is done", details=[detail])
    return {"userId": user_id, **progress(erasure)}


def _shown(services: ErasureServices, user_id: str) -> ErasureBody:
    erasure = services.erasures.get(services.hashes.key(Person(USER, user_id)))
    if erasure is None:
        detail = FieldError("userId", "was not erased", echo(user_id), "a user whose erasure was requested")
        raise NotFound("there is no erasure of this user", details=[detail])
    return {"userId": user_id, **progress(erasure)}


def progress(erasure: Job) -> Progress:
    """The progress of an erasure as answers show it."""
    ended = erasure.done_at or erasure.began_at
    body: Progress = {
        "state": "done" if erasure.state == DONE else "running",
        "erasedAt": erasure.began_at,
        "backupsUntil": times.iso(times.micros_of(ended) + BACKUP_DAYS * times.DAY),
        "counts": dict(erasure.counts),
    }
    if erasure.done_at is not None:
        body["doneAt"] = erasure.done_at
    return body
