"""Builds what deletes the files of messages that have expired."""

from __future__ import annotations

import functools

from headrace.bootstrap.shared import attachment_files, clock, dynamodb
from headrace.runtime.settings import RoomSettings
from headrace.streams.chat.attachments.tidier import AttachmentTidier
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoRooms
from headrace.streams.chat.rooms.rooms import CachedRooms


@functools.cache
def attachment_tidier() -> AttachmentTidier:
    """Deletes the files of messages that have expired."""
    settings = RoomSettings.read()
    rooms = CachedRooms(DynamoRooms(dynamodb(), settings.rooms_table))
    return AttachmentTidier(attachment_files(), rooms, settings.chat_retention_days, clock())
