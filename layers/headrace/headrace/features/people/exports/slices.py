"""Builds what runs the slices of exports."""

from __future__ import annotations

import functools

from headrace.features.people.exports.exporter import Exporter
from headrace.features.people.exports.room import RoomSources
from headrace.features.people.exports.tasks import ExportSettings, export_queue, exports
from headrace.features.people.exports.user import UserSources
from headrace.features.people.hashes import person_hashes
from headrace.runtime.aws import client
from headrace.runtime.settings import ConnectionSettings, RoomSettings
from headrace.services.messages import message_table, messages_table_name
from headrace.services.rooms import memberships
from headrace.services.shared import clock, dynamodb, range_reader
from headrace.stage.chosen import FEATURES, made
from headrace.storage.dynamodb.client import DynamoTable
from headrace.storage.s3 import Objects
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.rooms.dynamodb import RoomTable

FILE_SECONDS = 20.0
"""Timeout of a file of up to 8 MB."""


@functools.cache
def exporter() -> Exporter:
    """Runs the slices of exports."""
    rooms = RoomSettings.read()
    user = UserSources(
        message_table(),
        DynamoTable(dynamodb(), rooms.rooms_table, "rooms"),
        DynamoTable(dynamodb(), rooms.memberships_table, "memberships"),
        DynamoTable(dynamodb(), ConnectionSettings.read().connections_table, "connections"),
        functools.partial(made, "sources", FEATURES),
    )
    of_room = functools.partial(made, "room_sources", FEATURES)
    table, messages = RoomTable(dynamodb(), rooms.rooms_table), MessageReader(range_reader())
    room = RoomSources(table, memberships(), messages, messages_table_name(), of_room, clock())
    files = Objects(client("s3", timeout=FILE_SECONDS), ExportSettings.read().exports_bucket)
    return Exporter({"user": user.of, "room": room.of}, exports(), files, export_queue(), person_hashes(), clock())
