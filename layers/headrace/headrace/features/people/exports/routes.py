"""The routes that export a user, for operators and for users themselves, and a room, for its owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from headrace.api.params import Params, UserPath
from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.errors import Conflict, FieldError, Forbidden, NotFound, echo
from headrace.core.fields import CanonicalTime, whole_number
from headrace.core.keys import is_reserved_room
from headrace.core.people import SKIERS
from headrace.features.people.erasures import DynamoErasures, erasures
from headrace.features.people.exports.exporter import as_of, beside_of
from headrace.features.people.exports.room import owns
from headrace.features.people.exports.tasks import (
    WITHDRAWN,
    DynamoExports,
    Export,
    ExportSettings,
    Kind,
    Task,
    export_queue,
    exports,
)
from headrace.features.people.hashes import ROOM, USER, Person, PersonHashes, person_hashes
from headrace.features.people.jobs import DONE, RUNNING, TaskQueue, requested
from headrace.runtime.aws import client
from headrace.runtime.observability import audit
from headrace.runtime.settings import RoomSettings
from headrace.services.rooms import memberships
from headrace.services.shared import dynamodb
from headrace.storage.s3 import Objects
from headrace.streams.chat.rooms.access import existing, not_in_room
from headrace.streams.chat.rooms.dynamodb import Memberships, RoomTable
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.rooms.rooms import MEMBERS, Rooms

LINK_SECONDS = 900
"""How long a link is good. Each answer has new ones: a link ends with the credentials that it is signed with."""


@dataclass(frozen=True)
class ExportServices:
    """What the routes use."""

    exports: DynamoExports
    erasures: DynamoErasures
    files: Objects
    queue: TaskQueue
    hashes: PersonHashes
    rooms: Rooms
    memberships: Memberships


class ExportUserBody(Params):
    """The skier that the user is, if any. Nothing else in Headrace says who a skier is."""

    skier_id: int | None = whole_number(*SKIERS, default=None, alias="skierID")


class ExportFile(TypedDict):
    """A file of an export: gzip of JSON lines. Anybody can open its ``link``, for 15 minutes from the answer on."""

    link: str
    lines: int
    bytes: int


class ExportBody(TypedDict):
    """The progress of an export, and its files when it is done.

    All that was stored until ``asOf`` and is still there is in it. What was stored or changed between ``asOf`` and
    ``doneAt`` can be in it or not. ``counts`` are of the lines so far, by their kind. The files of a done export, one
    after the other, are one file of gzip. They are deleted at ``filesUntil``.
    """

    state: Literal["running", "done"]
    asOf: CanonicalTime
    doneAt: NotRequired[CanonicalTime]
    filesUntil: CanonicalTime
    counts: dict[str, int]
    files: list[ExportFile]


class UserExport(ExportBody):
    """The export of a user."""

    userId: str


class RoomExport(ExportBody):
    """The export of a room."""

    roomId: str


def export_user(services: ExportServices, request: Request[UserPath, None, ExportUserBody]) -> UserExport:
    """Export everything that is held about a user, and about the skier that the user is.

    Repeated while it runs, it is the same export. Later, it is a new one.
    """
    user_id, skier_id = request.path.user_id, request.body.skier_id
    body = _export(services, request.now, "user", user_id, None if skier_id is None else str(skier_id))
    audit("a user is exported", request.caller, person=services.hashes.key(Person(USER, user_id)))
    return {"userId": user_id, **body}


def show_export(services: ExportServices, request: Request[UserPath, None, None]) -> UserExport:
    """Show the progress of the last export of a user, and its files."""
    user_id = request.path.user_id
    body = _shown(services, request.now, "user", user_id)
    audit("an export of a user is read", request.caller, person=services.hashes.key(Person(USER, user_id)))
    return {"userId": user_id, **body}


def export_own(services: ExportServices, request: Request[None, None, None]) -> UserExport:
    """Export everything that is held about the token's user.

    Repeated while it runs, it is the same export. Later, it is a new one.
    """
    user_id = request.caller.subject
    return {"userId": user_id, **_export(services, request.now, "user", user_id, None)}


def show_own_export(services: ExportServices, request: Request[None, None, None]) -> UserExport:
    """Show the progress of the last export of the token's user, and its files."""
    user_id = request.caller.subject
    return {"userId": user_id, **_shown(services, request.now, "user", user_id)}


def export_room(services: ExportServices, request: Request[RoomPath, None, None]) -> RoomExport:
    """Export a room of members: its messages as you read them, and its members. Its owners may.

    Repeated while it runs, it is the same export. Later, it is a new one.
    """
    room_id, owner = request.path.room_id, request.caller.subject
    _check_owner(services, request.caller, room_id)
    return {"roomId": room_id, **_export(services, request.now, ROOM, room_id, owner)}


def show_room_export(services: ExportServices, request: Request[RoomPath, None, None]) -> RoomExport:
    """Show the progress of your last export of a room, and its files."""
    room_id, owner = request.path.room_id, request.caller.subject
    _check_owner(services, request.caller, room_id)
    return {"roomId": room_id, **_shown(services, request.now, ROOM, room_id, owner)}


def services() -> ExportServices:
    """What the routes use on this stage."""
    return ExportServices(
        exports(),
        erasures(),
        Objects(client("s3"), ExportSettings.read().exports_bucket),
        export_queue(),
        person_hashes(),
        # A room that was read before may have another owner now.
        RoomTable(dynamodb(), RoomSettings.read().rooms_table),
        memberships(),
    )


def _check_owner(services: ExportServices, caller: Caller, room_id: str) -> None:
    membership = services.memberships.get(caller.subject, room_id)
    if is_reserved_room(room_id) and not membership.intervals:
        raise not_in_room(room_id)
    room = existing(services.rooms.get(room_id), room_id)
    if room.kind != MEMBERS:
        detail = FieldError("roomId", "is an open room", echo(room_id), "a room of members")
        raise Conflict("an open room is not exported: everybody can read its pages", details=[detail])
    if not owns(room, membership):
        raise Forbidden("only an owner exports this room", details=[FieldError("roomId", "is not yours")])


def _export(services: ExportServices, now: int, kind: Kind, id: str, beside_id: str | None) -> ExportBody:
    key, beside = services.hashes.key(Person(kind, id)), beside_of(services.hashes, kind, beside_id)
    if kind == USER and (erasure := services.erasures.get(key)) is not None and erasure.state == RUNNING:
        raise Conflict("the user is being erased", details=[FieldError("userId", "is being erased")])
    asked = services.exports, services.queue, key, now, beside
    export = requested(*asked, lambda at: Task(kind, id, beside_id, at))
    if export.state == RUNNING and export.beside != beside and not (kind == USER and beside is None):
        what = "skierID" if kind == USER else "roomId"
        detail = FieldError(what, "is exported otherwise", None, "the same request again when that is done")
        raise Conflict("another export is running", details=[detail])
    return _body(services, export)


def _shown(services: ExportServices, now: int, kind: Kind, id: str, owner: str | None = None) -> ExportBody:
    export = services.exports.get(services.hashes.key(Person(kind, id)))
    is_there = export is not None and export.state != WITHDRAWN and now < export.kept_until
    if export is None or not is_there or (kind == ROOM and export.beside != beside_of(services.hashes, kind, owner)):
        name = "roomId" if kind == ROOM else "userId"
        detail = FieldError(name, "was not exported", echo(id), "what was exported in the last days")
        raise NotFound("there is no export", details=[detail])
    return _body(services, export)


def _body(services: ExportServices, export: Export) -> ExportBody:
    body: ExportBody = {
        "state": "done" if export.state == DONE else "running",
        "asOf": as_of(export.began_at),
        "filesUntil": times.iso(export.kept_until),
        "counts": dict(export.counts),
        "files": [
            {
                "link": services.files.link(each.name, f"export-{number:05}.jsonl.gz", LINK_SECONDS),
                "lines": each.lines,
                "bytes": each.bytes,
            }
            for number, each in enumerate(export.files if export.state == DONE else (), 1)
        ],
    }
    if export.done_at is not None:
        body["doneAt"] = export.done_at
    return body
