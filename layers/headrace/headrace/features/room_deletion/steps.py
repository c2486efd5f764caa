"""What is deleted of a room, on the engine of erasures: what is later than the deletion is of the next room."""

from __future__ import annotations

from functools import partial

from headrace.core.people import Progress, Step, Target
from headrace.features.people.erasure.chat import ChatEraser
from headrace.features.people.erasure.rooms import RoomsEraser
from headrace.features.people.exports.tasks import exports
from headrace.features.people.exports.withdrawal import withdraw
from headrace.features.people.hashes import ROOM, Person, person_hashes
from headrace.services.rooms import rooms
from headrace.stage.chosen import FEATURES
from headrace.storage.s3 import Objects
from headrace.streams.chat.rooms.dynamodb import RoomTable


def end_room(rooms: RoomTable, target: Target) -> Progress:
    """Let the room be a deleted one, if the request ended before that. Its row stays, and says when its id is free."""
    rooms.delete(target.room_id, target.erased_at)
    yield "rooms", 0


def room_steps(chat: ChatEraser, places: RoomsEraser, files: Objects) -> list[Step]:
    return [
        partial(end_room, rooms().table),
        lambda target: withdraw(exports(), files, person_hashes().key(Person(ROOM, target.room_id))),
        partial(chat.room, [prefix for feature in FEATURES for prefix in feature.prefixes]),
        places.members,
        places.followers,
    ]
