"""Builds what runs behind the tables: what tells others, the archive, and what deletes the files of messages."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.core.items import Item
from headrace.core.stream import Tell
from headrace.delivery.archive import ArchivedTable
from headrace.delivery.archive_tidier import Tidier
from headrace.delivery.archiver import Archiver
from headrace.delivery.teller import Teller, ToldStream
from headrace.queues.sqs import SqsRetryLane
from headrace.queues.targets import TIMEOUT, target_of
from headrace.runtime.aws import client
from headrace.runtime.settings import ArchiveSettings, ObserveSettings, RoomSettings, TellSettings
from headrace.services.shared import attachments, clock, dynamodb
from headrace.stage.chosen import told_types
from headrace.stage.registry import STREAMS, subject_of, tells
from headrace.storage.s3 import S3Objects
from headrace.streams.ads import dynamodb as clicks
from headrace.streams.ads import stream as ads
from headrace.streams.chat import told as messages
from headrace.streams.ski import stream as ski

if TYPE_CHECKING:
    from headrace.streams.chat.attachments.tidier import AttachmentTidier

TOLD: dict[str, tuple[Tell, tuple[str, ...]]] = {
    "chat": (functools.partial(messages.tell, tells()), (messages.STORED, *told_types())),
    "ski": (ski.tell, (ski.STORED_TYPE, ski.TAKEN_BACK_TYPE)),
    "ads": (ads.tell, (ads.STORED_TYPE, ads.TAKEN_BACK_TYPE)),
}
"""By stream: what is told of a change, and its types."""


def hour(row: Item) -> str:
    """The hour of a message, also for the rows of its changes."""
    return messages.hour(subject_of(row)[1])


ARCHIVED: dict[frozenset[str], ArchivedTable] = {
    frozenset(("roomId", "timestampSk")): ArchivedTable("chat", "messages", hour),
    frozenset(("roomId",)): ArchivedTable("chat", "rooms"),
    frozenset(("userId", "roomId")): ArchivedTable("chat", "memberships"),
    frozenset(("skierID", "rideSk")): ArchivedTable("ski", "rides", ski.hour),
    frozenset(("resortID",)): ArchivedTable("ski", "resorts"),
    frozenset(("clickId", "sender")): ArchivedTable("ads", "clicks", clicks.hour),
}
"""The tables that are archived, by the names of their keys."""
OBJECT_SECONDS = 10.0
"""For an answer of S3 with some megabytes."""


@functools.cache
def teller() -> Teller:
    """Tells the target of the settings."""
    settings = TellSettings.read()
    streams = {
        frozenset((STREAMS[name].partition_key, STREAMS[name].sort_key)): ToldStream(name, tell)
        for name, (tell, _) in TOLD.items()
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
    return Archiver(objects(), ARCHIVED)


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
