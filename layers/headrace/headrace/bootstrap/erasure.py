"""Builds the erasure of users: the routes that begin one, and what runs it."""

from __future__ import annotations

import functools

from headrace.erasure.chat import ChatEraser
from headrace.erasure.dead_letters import LetterEraser
from headrace.erasure.dynamodb import DynamoErasures
from headrace.erasure.eraser import Eraser, rounds_of
from headrace.erasure.rooms import RoomsEraser
from headrace.erasure.screen import ErasureScreen
from headrace.erasure.sqs import SqsTaskQueue
from headrace.exports.dynamodb import DynamoExports
from headrace.exports.withdrawal import ExportEraser
from headrace.queues.sqs import TIMEOUT, SqsDeadLane
from headrace.runtime.aws import client
from headrace.runtime.settings import (
    ArchiveSettings,
    ConnectionSettings,
    DeadLaneSettings,
    ErasureTaskSettings,
    ExportSettings,
    RoomSettings,
    table_settings,
)
from headrace.services.messages import room_log
from headrace.services.shared import attachments, clock, dynamodb, late_events, person_hashes, retry_lane
from headrace.stage.registry import STREAMS, archive_steps, erases, remove
from headrace.storage.dynamodb.client import DynamoTable
from headrace.storage.s3 import S3Objects
from headrace.streams.chat.messages.dynamodb import DynamoMessages
from headrace.streams.chat.stream import CHAT


@functools.cache
def eraser() -> Eraser:
    """Runs the slices of erasures."""
    settings, archiving = ErasureTaskSettings.read(), ArchiveSettings.read()
    rooms, connections = RoomSettings.read(), ConnectionSettings.read().connections_table
    messages = table_settings(CHAT).table
    chat = ChatEraser(dynamodb(), messages, remove, attachments(), room_log(), late_events(CHAT), clock())
    places = RoomsEraser(dynamodb(), rooms.rooms_table, rooms.memberships_table, connections, chat.notices)
    dead_queue, sqs = DeadLaneSettings.read().dead_letter_queue_url, client("sqs", timeout=TIMEOUT)
    erasures = DynamoErasures(dynamodb(), settings.erasures_table)
    screen = ErasureScreen(erasures, person_hashes(), clock(), settings.erasure_age_seconds)
    exports = ExportEraser(
        DynamoMessages(dynamodb(), messages, "messages"),
        DynamoTable(dynamodb(), rooms.memberships_table, "memberships"),
        DynamoExports(dynamodb(), settings.erasures_table),
        S3Objects(client("s3"), ExportSettings.read().exports_bucket),
        person_hashes(),
    )
    steps = [
        exports.exports,
        chat.attachments,
        chat.messages,
        *erases(),
        places.connections,
        places.memberships,
        LetterEraser(SqsDeadLane(dead_queue, sqs), retry_lane(), screen, STREAMS).dead_letters,
        # These read whole tables.
        places.named_by_others,
        places.rooms,
    ]
    waits = settings.erasure_age_seconds, settings.persist_timeout_seconds, archiving.archive_window_seconds
    rounds = rounds_of(steps, archive_steps(), *waits)
    return Eraser(rounds, erasures, SqsTaskQueue(settings.erasure_queue_url, sqs), person_hashes(), clock())
