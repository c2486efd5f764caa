"""Builds what runs behind the tables: what tells others, the archive, and what deletes the files of messages."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.features.archive.archiver import Archiver
from headrace.features.archive.tidier import Tidier
from headrace.features.tell.targets import TIMEOUT, target_of
from headrace.features.tell.teller import Teller, ToldStream
from headrace.queues.sqs import SqsRetryLane
from headrace.runtime.aws import client
from headrace.runtime.settings import ArchiveSettings, ObserveSettings, RoomSettings, TellSettings
from headrace.services.shared import attachments, clock, dynamodb
from headrace.stage.registry import STREAMS, archived, tells
from headrace.storage.s3 import S3Objects

if TYPE_CHECKING:
    from headrace.streams.chat.attachments.tidier import AttachmentTidier

OBJECT_SECONDS = 10.0
"""For an answer of S3 with some megabytes."""


@functools.cache
def teller() -> Teller:
    """Tells the target of the settings."""
    settings = TellSettings.read()
    streams = {
        frozenset((STREAMS[name].partition_key, STREAMS[name].sort_key)): ToldStream(name, tell)
        for name, tell in tells().items()
    }
    target = target_of(settings.tell_target, lambda service: client(service, timeout=TIMEOUT))
    untold = SqsRetryLane(settings.untold_queue_url, client("sqs"))
    return Teller(target, streams, settings.tell_types, ObserveSettings.read().powertools_service_name, untold)


@functools.cache
def objects() -> S3Objects:
    return S3Objects(client("s3", timeout=OBJECT_SECONDS), ArchiveSettings.read().archive_bucket)


@functools.cache
def archiver() -> Archiver:
    """Archives what was stored."""
    return Archiver(objects(), archived())


@functools.cache
def tidier() -> Tidier:
    """Tidies the archive."""
    return Tidier(objects())


@functools.cache
def attachment_tidier() -> AttachmentTidier:
    """Deletes the files of messages that have expired."""
    # Imported here: no other function of this module needs it.
    from headrace.streams.chat.attachments.tidier import AttachmentTidier
    from headrace.streams.chat.rooms.dynamodb.rooms import DynamoRooms
    from headrace.streams.chat.rooms.rooms import CachedRooms

    settings = RoomSettings.read()
    rooms = CachedRooms(DynamoRooms(dynamodb(), settings.rooms_table))
    return AttachmentTidier(attachments(), rooms.retentions, clock())
