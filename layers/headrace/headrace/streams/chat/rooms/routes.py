"""The routes of rooms: creating, showing and changing them, and opening direct ones.

A write adds an element to a set, or changes nothing if the room exists: nothing that was read is written back. So a
request that was interrupted is completed by repeating it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Request
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Conflict, FieldError, Forbidden, InvalidRequest, StoreUnavailable, Unavailable, echo
from headrace.live.dynamodb import Connections
from headrace.live.hints import SubscriberHints
from headrace.queues.ports import LivePublisher
from headrace.runtime.observability import report
from headrace.streams.chat.rooms.access import RoomAccess, check_own, effective_role, existing, not_in_room
from headrace.streams.chat.rooms.channels import Channels
from headrace.streams.chat.rooms.consent import Consent, Invitation, joined_at
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.joins import Joins
from headrace.streams.chat.rooms.memberships import OWNER, Membership, Role, state_of
from headrace.streams.chat.rooms.requests import OtherPath, RoomChange, RoomPath, RoomRequest, check
from headrace.streams.chat.rooms.retention import MOST_DAYS, Retention
from headrace.streams.chat.rooms.rooms import DIRECT, MEMBERS, CachedRooms, Room, id_held

CHANNEL_MEMBERS = 100
"""A change of a larger room itself is in no channel. Former members count too: they are in the
index."""
CHANGE_TRIES = 3
"""Tries to change a room's retention, which another request may change meanwhile."""


@dataclass(frozen=True, slots=True)
class RoomServices:
    """What the routes of rooms and members use. ``cursors`` reads its secret, and only the list of members needs it.

    ``restart_log`` begins the log of a room again, of which readers may see less. ``live`` publishes to the followers
    of rooms. ``most_days`` are the days that the stage keeps messages.
    """

    rooms: CachedRooms
    memberships: Memberships
    access: RoomAccess
    connections: Connections
    hints: SubscriberHints
    consent: Consent
    joins: Joins
    channels: Channels
    restart_log: Callable[[str], None]
    cursors: Callable[[], CursorSigner]
    live: LivePublisher
    most_days: int = MOST_DAYS


def create_room(services: RoomServices, request: Request[RoomPath, None, RoomRequest]) -> dict[str, Any]:
    """Create a room. If the same room exists, nothing changes.

    The creator of a ``members`` room joins it. Repeating the request completes an interrupted one. ``name``, ``topic``
    and ``retentionDays`` are those of a new room; an existing room keeps its own. A ``members`` room of another creator
    is a conflict, also with the same body.

    A room takes about 1,000 messages a second. One whose id ends in `~2`, `~4`, `~8` or `~16`, such as `stadium~8`,
    takes so many times as much, and each of its pages costs more. It needs this request: no message creates it.
    """
    check(request)
    caller, room_id, body = request.caller, request.path.room_id, request.body
    if (flaw := keys.flaw_of(room_id)) and services.rooms.table.get(room_id) is None:
        raise InvalidRequest(details=[FieldError("roomId", flaw, echo(room_id), keys.NEW_ID_FORM)])
    creator = body.created_by or caller.subject
    created_at = body.created_at or times.iso(request.now)
    retention = Retention(_checked_days(services, body.retention_days))
    new = Room(room_id, body.kind, body.form, created_at, creator, body.name, body.topic, retention=retention)
    room = _created(services, new)
    same = (room.kind, room.form) == (body.kind, body.form)
    if room.kind == MEMBERS:
        same = same and room.created_by == creator
    if not same or body.created_at not in (None, room.created_at):
        detail = FieldError("roomId", "is the id of another room", echo(room_id), "an unused id, or the existing room")
        raise Conflict("another room has this id", details=[detail])
    if room.kind == MEMBERS:
        services.connections.members_only(room_id)
        services.hints.mark_unsubscribed(room_id)
        name = body.username or (caller.username if creator == caller.subject else None)
        membership = _join(services, caller, room, creator, room.created_at, name)
        services.joins.publish(request, membership, "join", room.created_at)
    return room.to_body()


def _created(services: RoomServices, new: Room) -> Room:
    """The room that exists after ``new`` is created. Raises Conflict: a deleted one has its id."""
    room = services.rooms.create(new)
    if room is None:
        _, retention = services.rooms.table.read([new.room_id])[new.room_id]
        raise id_held(new.room_id, retention.gone_before)
    return room


def has_seat(services: RoomServices, caller: Caller, room_id: str) -> bool:
    """Whether the caller may know of a direct room: is or was in it, is invited to it, or has events:write.

    Its id follows from the ids of its users, so anyone can ask for it. Others get one answer, whether the room exists
    or not. Of other rooms everybody may know.
    """
    if not keys.is_reserved_room(room_id) or caller.has(EVENTS_WRITE):
        return True
    membership = services.memberships.get(caller.subject, room_id)
    return bool(membership.intervals) or services.consent.stored(caller.subject, room_id) is not None


def check_seat(services: RoomServices, caller: Caller, room_id: str) -> None:
    """Check that the caller ``has_seat``. Raises Forbidden."""
    if not has_seat(services, caller, room_id):
        raise not_in_room(room_id)


def show_room(services: RoomServices, request: Request[RoomPath, None, None]) -> dict[str, Any]:
    """Get a room, and the caller's membership in it.

    A ``members`` room is shown to users who are or were in it or are invited, with its current name and topic; an open
    room to every caller.
    """
    user_id, room_id = request.caller.subject, request.path.room_id
    check_seat(services, request.caller, room_id)
    room = existing(services.rooms.table.get(room_id), room_id)
    membership = services.memberships.get(user_id, room_id)
    invitation = None
    if room.kind == MEMBERS and not membership.is_open:
        invitation = services.consent.valid(services.consent.stored(user_id, room_id), room)
        if not membership.intervals and invitation is None:
            raise not_in_room(room_id)
    return _details(room, membership, invitation)


def change_room(services: RoomServices, request: Request[RoomPath, None, RoomChange]) -> dict[str, Any]:
    """Change the name, the topic or the retention of a room. Owners may; in an open room, its creator.

    A field that is left out stays as it is, and ``null`` removes it. With fewer ``retentionDays``, older messages are
    shown no more, in all environments after 10 seconds. With more days, or ``null``, they do not come back.
    """
    room_id, change = request.path.room_id, request.body
    room = changeable(services, request.caller, room_id)
    texts: dict[str, Any] = change.model_dump(include=change.model_fields_set)
    if texts:
        room = _changed(services, room, texts, request.now)
        services.channels.publish(channel_members(services, room_id), "room", room_id)
    return room.to_body()


def changeable(services: RoomServices, caller: Caller, room_id: str) -> Room:
    """A room that the caller may change. Raises Forbidden, NotFound."""
    check_seat(services, caller, room_id)
    room = existing(services.rooms.table.get(room_id), room_id)
    if not caller.has(EVENTS_WRITE) and not services.access.owns(caller, room):
        detail = FieldError("roomId", "is a room that you do not own", echo(room_id), "a room that you own")
        raise Forbidden("only an owner changes a room", details=[detail])
    return room


def _changed(services: RoomServices, room: Room, changes: dict[str, Any], now: int) -> Room:
    """The room after ``changes``, which are stored."""
    keeps = "retention_days" in changes
    days = _checked_days(services, changes.pop("retention_days", None))
    for _ in range(CHANGE_TRIES):
        retention = (room.retention, room.retention.changed(days, now)) if keeps else None
        changed = services.rooms.table.change(room.room_id, changes, retention)
        if changed is not None and keeps:
            services.rooms.learn(room.room_id, changed.retention)
            services.restart_log(room.room_id)
        if changed is not None:
            return changed
        room = existing(services.rooms.table.get(room.room_id), room.room_id)
    raise Unavailable("the room was changed meanwhile; repeat the request")


def _checked_days(services: RoomServices, days: int | None) -> int | None:
    if days is not None and days > services.most_days:
        allowed = f"a whole number from 1 to {services.most_days}"
        detail = FieldError("retentionDays", "is more than this stage keeps messages", days, allowed)
        raise InvalidRequest(details=[detail])
    return days


def channel_members(services: RoomServices, room_id: str) -> list[str]:
    """The members whose channels have changes of the room itself: none of a larger room than ``CHANNEL_MEMBERS``."""
    try:
        users, more = services.memberships.users_of(room_id, None, CHANNEL_MEMBERS)
        found = services.memberships.get_many([(user_id, room_id) for user_id in ([] if more else users)])
    except StoreUnavailable as error:
        report("user channels", f"a change of a room is not published: {error.message}")
        return []
    return [each.user_id for each in found.values() if each.is_open]


def open_direct_room(services: RoomServices, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Open the direct room of two users: create it, or return it. Either user gets the same room.

    Its id begins with ``direct:``, and only this route creates such rooms. Both users own it. The other one is invited,
    unless both are in another ``members`` room. A user who has left it returns by repeating the request; the other one
    is not added again.
    """
    caller, user_id, other_id = request.caller, request.path.user_id, request.path.other_id
    if not caller.has(EVENTS_WRITE):
        check_own(caller, user_id, "a user opens only direct rooms with themselves in them")
    if user_id == other_id:
        detail = FieldError("otherId", "is the same user", echo(other_id), "another user")
        raise InvalidRequest("a direct room has two users", details=[detail])
    room_id = keys.direct_room(user_id, other_id)
    at = times.iso(request.now)
    # The tables are read first, so that only a new or incomplete room costs writes.
    own, other = (services.memberships.get(each, room_id) for each in (user_id, other_id))
    new = {each.user_id for each in (own, other) if not each.joins}
    room = services.rooms.table.get(room_id)
    # Without invitations, nobody can say whether the other user blocks the caller: they come themselves.
    is_wish = services.consent.invites and room is not None and room.created_by == other_id
    invites = not other.joins and not is_wish and services.consent.is_needed(caller, other, request.now)
    room = room or _created(services, Room(room_id, MEMBERS, DIRECT, at, user_id))
    if not own.is_open or not other.joins:
        services.connections.members_only(room_id)
        services.connections.unsubscribe_user(room_id, other_id)  # from a room of this id that was deleted
        services.hints.mark_unsubscribed(room_id)
    if not own.is_open:
        own = _return_to(services, request, room, own)
    if not other.joins and invites:
        services.rooms.table.take_seat(room_id, other_id)
        invite(services, request, room, other, OWNER)
    elif not other.joins:
        stored = services.consent.stored(other_id, room_id)
        if stored is not None:
            services.consent.withdraw(stored)
        other = _join(services, caller, room, other_id, room.created_at, None)
        end_if_blocked(services, request, other)
    for membership in (own, other):
        if membership.is_open:
            # A new member of an older room joins as of its creation.
            old, at = membership.user_id in new, membership.intervals[-1].joined_at
            services.joins.publish(request, membership, "join", at, old=old)
    return _details(room, own, None)


def _return_to(
    services: RoomServices, request: Request[OtherPath, None, None], room: Room, own: Membership
) -> Membership:
    """Join a direct room, for the first time or again; an invitation of the other user is accepted."""
    caller, user_id, consent = request.caller, own.user_id, services.consent
    stored = consent.stored(user_id, room.room_id)
    invitation = consent.valid(stored, room)
    if invitation is not None and not consent.accept(invitation):
        invitation = None
    is_new = room.created_by == user_id and not own.joins
    at = room.created_at if is_new else joined_at(own, invitation, request.now)
    username = caller.username if user_id == caller.subject else None
    membership = _join(services, caller, room, user_id, at, username)
    if stored is not None:
        services.joins.publish(request, membership, "join", at, old=True)
        consent.remove(stored)
    return membership


def _join(
    services: RoomServices, caller: Caller, room: Room, user_id: str, at: str, username: str | None
) -> Membership:
    """Join a room as an owner; in a direct room, this takes a seat."""
    if room.form == DIRECT:
        services.rooms.table.take_seat(room.room_id, user_id)
    return services.joins.add(caller, user_id, room.room_id, "join", at, role=OWNER, username=username)


def invite(
    services: RoomServices, request: Request[Any, None, Any], room: Room, membership: Membership, role: Role | None
) -> Invitation | None:
    """Invite a user, and publish it to them unless they block the caller. Raises what ``Consent.invite`` raises."""
    invitation = services.consent.invite(request, room, membership, role)
    if services.consent.valid(invitation, room) is not None:
        services.channels.publish([membership.user_id], "invitation", room.room_id)
    return invitation


def end_if_blocked(services: RoomServices, request: Request[Any, Any, Any], added: Membership) -> None:
    """End the join of a user who blocked the caller meanwhile: the block may not have seen it.

    Raises:
        Unavailable: it has ended. The repeated request invites the user, which is all that the caller sees of a block.
    """
    by, user_id, room_id = request.caller, added.user_id, added.room_id
    if added.added_by == by.subject and services.consent.is_blocked(user_id, by.subject):
        services.joins.add(by, user_id, room_id, "leave", times.iso(added.next_time(request.now)))
        services.memberships.leave_for_good(user_id, room_id)
        raise Unavailable("the membership changed meanwhile; repeat the request")


def _details(room: Room, membership: Membership, invitation: Invitation | None) -> dict[str, Any]:
    intervals = membership.intervals
    own = {**state_of(intervals[-1]), "role": effective_role(room, membership)} if intervals else None
    shown = None if invitation is None else invitation.to_body()
    return {**room.to_body(), "membership": own, "invitation": shown}
