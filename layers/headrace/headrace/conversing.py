"""Builds what read_conversations needs, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from headrace.api.bodies import http_body
from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.request import parse_list_request, path_id
from headrace.core.caller import Caller
from headrace.core.errors import NotFound
from headrace.core.times import SystemClock
from headrace.runtime.aws import client
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import ReadSettings, RoomSettings, table_settings
from headrace.storage.dynamodb.range_reader import DynamoReader
from headrace.streams.chat.activity import DynamoRoomActivity
from headrace.streams.chat.conversations import AT_ONCE, DEFAULT_LIMIT, LIMIT, Conversations
from headrace.streams.chat.memberships_dynamodb import DynamoMemberships
from headrace.streams.chat.stream import CHAT


@functools.cache
def conversations() -> Conversations:
    """Users' lists of rooms, and their read marks."""
    rooms = RoomSettings.read()
    table = table_settings(CHAT)
    key = ManagedSecrets().text(ReadSettings.read().cursor_secret_arn).encode()
    dynamodb = client("dynamodb", connections=2 * AT_ONCE)
    return Conversations(
        DynamoMemberships(dynamodb, rooms.memberships_table),
        DynamoRoomActivity(dynamodb, rooms.rooms_table),
        DynamoReader(dynamodb),
        CursorSigner(key),
        table.table,
        SystemClock(),
    )


def list_rooms(caller: Caller, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """GET /users/{userId}/rooms."""
    request = parse_list_request(event.get("queryStringParameters"), "before", DEFAULT_LIMIT, LIMIT)
    return conversations().page(caller, path_id("userId", event["pathParameters"]["userId"]), request)


def mark_read(caller: Caller, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """PUT /rooms/{roomId}/read."""
    up_to = http_body(event).get("upTo")
    return conversations().mark_read(caller, path_id("roomId", event["pathParameters"]["roomId"]), up_to)


def unknown(_caller: Caller, _event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse a route that there is not."""
    raise NotFound("there is no such route")
