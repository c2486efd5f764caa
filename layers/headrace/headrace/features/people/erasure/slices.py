"""Builds what runs the slices of erasures."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from headrace.core.people import Step
from headrace.features.people.erasure.chat import ChatEraser
from headrace.features.people.erasure.dead_letters import LetterEraser
from headrace.features.people.erasure.eraser import Eraser, rounds_of
from headrace.features.people.erasure.rooms import RoomsEraser
from headrace.features.people.erasures import ErasureTaskSettings, erased, erasure_queue, erasures
from headrace.features.people.exports.tasks import ExportSettings, exports
from headrace.features.people.exports.withdrawal import erase_exports
from headrace.features.people.hashes import person_hashes
from headrace.queues.dead_lane import TIMEOUT, DeadLane
from headrace.runtime.aws import client
from headrace.runtime.settings import (
    ConnectionSettings,
    DeadLaneSettings,
    RoomSettings,
)
from headrace.services.messages import message_table, room_log
from headrace.services.shared import clock, dynamodb, retry_lane
from headrace.stage.chosen import FEATURES, made
from headrace.stage.registry import all_streams, late, remove
from headrace.storage.dynamodb.client import DynamoTable
from headrace.storage.s3 import Objects
from headrace.streams.chat.stream import CHAT


@functools.cache
def eraser() -> Eraser:
    """Runs the slices of erasures."""
    settings, archive = ErasureTaskSettings.read(), made("archive_steps", FEATURES)
    waits = settings.erasure_age_seconds, settings.persist_timeout_seconds, settings.archive_window_seconds
    rounds, room_rounds = (rounds_of(each, archive, *waits) for each in steps())
    return Eraser(rounds, erasures(), erasure_queue(), person_hashes(), clock(), room_rounds=room_rounds)


def steps() -> tuple[Sequence[Step], Sequence[Step]]:
    """The steps of the first two rounds, in their order: of an erasure, and of the deletion of a room."""
    rooms, connections = RoomSettings.read(), ConnectionSettings.read().connections_table
    memberships = DynamoTable(dynamodb(), rooms.memberships_table, "memberships")
    files = Objects(client("s3"), ExportSettings.read().exports_bucket)
    chat = ChatEraser(message_table(), remove, room_log(), late(CHAT), clock())
    places = RoomsEraser(dynamodb(), rooms.rooms_table, rooms.memberships_table, connections, chat.notices)
    dead_lane = DeadLane(DeadLaneSettings.read().dead_letter_queue_url, client("sqs", timeout=TIMEOUT))
    letters = LetterEraser(dead_lane, retry_lane(), erased, all_streams())
    return [
        functools.partial(erase_exports, message_table(), memberships, exports(), files, person_hashes()),
        *made("steps_first", FEATURES),
        chat.messages,
        *made("steps", FEATURES),
        places.connections,
        places.memberships,
        letters.dead_letters,
        # These read whole tables.
        places.named_by_others,
        places.rooms,
    ], [*made("room_steps", FEATURES, chat, places, files), letters.dead_letters]
