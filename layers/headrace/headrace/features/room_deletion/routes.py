"""The routes that delete a room, for its owners and for operators, and the frame that its followers get."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from headrace.api.rates.rate_limiter import CHANGES
from headrace.api.router import Request, Route
from headrace.core.caller import CHAT_WRITE, OPS
from headrace.core.errors import (
    Conflict,
    FieldError,
    Forbidden,
    NotFound,
    RetryLaneUnavailable,
    SecretsUnavailable,
    echo,
)
from headrace.core.fields import CanonicalTime
from headrace.core.keys import is_reserved_room
from headrace.core.people import Target
from headrace.features.people.erasure import routes as erasure
from headrace.features.people.erasure.rooms import RoomsEraser
from headrace.features.people.erasures import Task
from headrace.features.people.hashes import ROOM, USER, Person
from headrace.features.people.jobs import DONE, Job, requested
from headrace.live.signals import to_copy
from headrace.queues.names import SIGNAL_QUEUE
from headrace.queues.ports import Outgoing
from headrace.runtime.observability import audit, report
from headrace.runtime.settings import ConnectionSettings, RoomSettings
from headrace.services.shared import dynamodb
from headrace.streams.chat.rooms.access import no_room
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.rooms.rooms import DIRECT, MEMBERS, Room, free_from
from headrace.streams.chat.rooms.routes import RoomServices, changeable, channel_members

PathOnly = Request[RoomPath, None, None]


class RoomDeletion(erasure.Progress, TypedDict):
    """The deletion of a room. What was accepted for it until ``freeFrom`` is erased, or will not be stored.

    From then on, another room can have its id: of a direct room ten seconds later, else 15 days.
    """

    roomId: str
    freeFrom: CanonicalTime


class RoomDeleted(TypedDict):
    """A room that the connection follows was deleted, pushed after ``subscribe``. It has no more messages."""

    type: Literal["roomDeleted"]
    roomId: str
    timestamp: CanonicalTime


def delete_room(services: RoomServices, request: PathOnly) -> RoomDeletion:
    """Delete a room of members that you own, with its messages, members and files.

    It cannot be undone. Repeated, it shows how far the deletion is. Only operators delete open rooms and direct ones.
    """
    room_id, caller, jobs = request.path.room_id, request.caller, erasure.services()
    owner = jobs.hashes.key(Person(USER, caller.subject))
    job, room = _last(room_id), services.rooms.table.get(room_id)
    if room is not None or job is None or job.beside != owner:
        room = changeable(services, caller, room_id)
        if room.kind != MEMBERS or room.form == DIRECT or not services.access.owns(caller, room):
            allowed = "a room of members that you own"
            detail = FieldError("roomId", "is for operators to delete", echo(room_id), allowed)
            raise Forbidden("only an operator deletes this room", details=[detail])
    return _deleted(services, request, room, job, owner)


def delete_any_room(services: RoomServices, request: PathOnly) -> RoomDeletion:
    """Delete a room of any kind, with its messages, members and files.

    It cannot be undone. Repeated while it runs, it is the same deletion.
    """
    room_id = request.path.room_id
    job, room = _last(room_id), services.rooms.table.get(room_id)
    if room is None and job is None:
        raise no_room(room_id)
    audit("a room is deleted", request.caller, room=erasure.services().hashes.key(Person(ROOM, room_id)))
    return _deleted(services, request, room, job)


def show_deletion(_services: RoomServices, request: PathOnly) -> RoomDeletion:
    """Show the progress of the last deletion of a room."""
    room_id = request.path.room_id
    job = _last(room_id)
    if job is None:
        detail = FieldError("roomId", "was not deleted", echo(room_id), "a room that was deleted")
        raise NotFound("there is no deletion of this room", details=[detail])
    return _body(room_id, job)


def _last(room_id: str) -> Job | None:
    jobs = erasure.services()
    return jobs.erasures.get(jobs.hashes.key(Person(ROOM, room_id)))


def _deleted(
    services: RoomServices, request: PathOnly, room: Room | None, job: Job | None, owner: str | None = None
) -> RoomDeletion:
    """Delete ``room``, or go on with the last deletion ``job``.

    Until it is done, each request sends the frame to the followers: an earlier one may be lost.
    """
    room_id, jobs = request.path.room_id, erasure.services()
    if job is not None and job.state == DONE:
        if room is None:
            return _body(room_id, job)
    elif job is not None:
        owner = job.beside
        if room is not None and room.retention.gone_before >= job.began_at:
            detail = FieldError("roomId", "was opened again", echo(room_id), "the room, when that deletion is done")
            raise Conflict("the room before this one is still being deleted; send it again later", details=[detail])
    members = channel_members(services, room_id) if room is not None else []
    asked = jobs.erasures, jobs.queue, jobs.hashes.key(Person(ROOM, room_id)), request.now, owner
    job = requested(*asked, lambda at: Task("", None, at, room_id=room_id, owner=owner))
    services.rooms.table.delete(room_id, job.began_at)
    if is_reserved_room(room_id):
        # Its memberships alone decide who writes and reads there.
        for _ in rooms_eraser().members(Target("", None, job.began_at, "", "", room_id=room_id)):
            pass
    services.restart_log(room_id)
    if room is not None:
        services.channels.publish(members, "room", room_id)
    frame: RoomDeleted = {"type": "roomDeleted", "roomId": room_id, "timestamp": job.began_at}
    failure = services.live.publish([Outgoing(SIGNAL_QUEUE, to_copy("", frame), request.correlation_id)])
    if failure is not None:
        report("live copies", f"the followers of a deleted room learn it by their next check: {failure.message}")
    return _body(room_id, job)


def rooms_eraser() -> RoomsEraser:
    """What deletes the members of a direct room in the request."""
    tables, connections = RoomSettings.read(), ConnectionSettings.read().connections_table
    return RoomsEraser(dynamodb(), tables.rooms_table, tables.memberships_table, connections, lambda *_: 0)


def _body(room_id: str, job: Job) -> RoomDeletion:
    return {"roomId": room_id, "freeFrom": free_from(room_id, job.began_at), **erasure.progress(job)}


LOST = (NotFound, RetryLaneUnavailable, SecretsUnavailable)
ROUTES = {
    "manage_rooms": {
        "DELETE /rooms/{roomId}": Route(
            delete_room, (CHAT_WRITE,), RoomPath, answer=RoomDeletion, errors=LOST, status=202, limit=CHANGES
        ),
        "POST /rooms/{roomId}/deletion": Route(
            delete_any_room, (OPS,), RoomPath, answer=RoomDeletion, errors=(*LOST, Conflict), status=202
        ),
        "GET /rooms/{roomId}/deletion": Route(
            show_deletion, (OPS,), RoomPath, answer=RoomDeletion, errors=(NotFound, SecretsUnavailable)
        ),
    }
}
