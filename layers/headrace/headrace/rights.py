"""Builds what decides who may read and write a room, once per environment and on first use."""

from __future__ import annotations

import functools
from typing import Any

from headrace.runtime.aws import client
from headrace.runtime.settings import RoomSettings
from headrace.streams.chat.access import RoomAccess
from headrace.streams.chat.memberships_dynamodb import DynamoMemberships
from headrace.streams.chat.rooms import DynamoRooms, RememberedRooms
from headrace.streams.chat.write_rights import RoomGate


@functools.cache
def rooms() -> RememberedRooms:
    """The rooms, remembered."""
    return RememberedRooms(DynamoRooms(_dynamodb(), RoomSettings.read().rooms_table))


@functools.cache
def memberships() -> DynamoMemberships:
    """The memberships."""
    return DynamoMemberships(_dynamodb(), RoomSettings.read().memberships_table)


@functools.cache
def access() -> RoomAccess:
    """Who may read and write."""
    return RoomAccess(rooms(), memberships())


@functools.cache
def gate() -> RoomGate:
    """Who may write, for requests that must not wait: what cannot be told soon is checked before it is stored."""
    settings = RoomSettings.read()
    hasty = client("dynamodb", timeout=1.0, attempts=1)
    known = RememberedRooms(DynamoRooms(hasty, settings.rooms_table))
    return RoomGate(known, DynamoMemberships(hasty, settings.memberships_table))


@functools.cache
def _dynamodb() -> Any:
    return client("dynamodb")
