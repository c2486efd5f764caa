"""Builds exports: what their routes use, and what runs them."""

from __future__ import annotations

import functools

from headrace.features.people.erasures import DynamoErasures
from headrace.features.people.exports.dynamodb import DynamoExports
from headrace.features.people.exports.exporter import Exporter
from headrace.features.people.exports.room import RoomSources
from headrace.features.people.exports.routes import ExportServices
from headrace.features.people.exports.user import UserSources
from headrace.features.people.sqs import SqsTaskQueue
from headrace.runtime.aws import client
from headrace.runtime.settings import ConnectionSettings, ExportSettings, RoomSettings, table_settings
from headrace.services.shared import attachments, clock, dynamodb, person_hashes
from headrace.stage.registry import exported
from headrace.storage.s3 import S3Objects
from headrace.streams.chat.messages.dynamodb import DynamoMessages
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
from headrace.streams.chat.stream import CHAT

FILE_SECONDS = 20.0
"""Timeout of a file of up to 8 MB."""


@functools.cache
def exports() -> ExportServices:
    """The exports of users and rooms."""
    settings, rooms = ExportSettings.read(), RoomSettings.read()
    return ExportServices(
        DynamoExports(dynamodb(), settings.erasures_table),
        DynamoErasures(dynamodb(), settings.erasures_table),
        S3Objects(client("s3"), settings.exports_bucket),
        SqsTaskQueue(settings.export_queue_url, client("sqs"), "exports"),
        person_hashes(),
        DynamoRooms(dynamodb(), rooms.rooms_table),
        DynamoMemberships(dynamodb(), rooms.memberships_table),
    )


@functools.cache
def exporter() -> Exporter:
    """Runs the slices of exports."""
    settings, rooms = ExportSettings.read(), RoomSettings.read()
    messages = table_settings(CHAT).table
    user = UserSources(
        dynamodb(),
        messages,
        rooms.rooms_table,
        rooms.memberships_table,
        ConnectionSettings.read().connections_table,
        attachments(),
        exported,
    )
    room = RoomSources(
        DynamoRooms(dynamodb(), rooms.rooms_table),
        DynamoMemberships(dynamodb(), rooms.memberships_table),
        DynamoMessages(dynamodb(), messages, "messages"),
        attachments(),
        clock(),
    )
    return Exporter(
        {"user": user.of, "room": room.of},
        DynamoExports(dynamodb(), settings.erasures_table),
        S3Objects(client("s3", timeout=FILE_SECONDS), settings.exports_bucket),
        SqsTaskQueue(settings.export_queue_url, client("sqs"), "exports"),
        person_hashes(),
        clock(),
    )
