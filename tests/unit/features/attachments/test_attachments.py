"""P17: Which attachments a message may name, and what happens to their files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace.core.errors import FollowUpUnavailable, InvalidEvent, StoreUnavailable
from headrace.core.sender import ValidatedEvent
from headrace.core.times import SECOND
from headrace.features.attachments.accepting import AT_MOST, AttachmentGate
from headrace.features.attachments.files import (
    file_name,
    folder_of,
    is_of_type,
    names_of,
    room_of,
)
from headrace.features.attachments.storing import keep
from tests.fakes.files import NO_FILES, PNG, memory_attachments
from tests.worlds.change_world import ChangeWorld
from tests.worlds.senders import CHAT, NOW, caller, sender

IDS = [letter * 26 for letter in "abcdefghij"]


def attachment(number: int = 0, **more: Any) -> dict[str, Any]:
    return {"id": IDS[number], "name": "cat.png", "type": "image/png", "bytes": len(PNG), **more}


def accepted(*attachments: Mapping[str, Any], user: str = "alice", room: str = "hall", **more: Any) -> ValidatedEvent:
    return CHAT.accept({"roomId": room, "message": "look", "attachments": list(attachments), **more}, sender(user))


def refused(*attachments: Any, **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidEvent) as caught:
        accepted(*attachments, **more)
    return [(each.field, each.message) for each in caught.value.details]


class World(ChangeWorld):
    """A world with a gate that looks at attachments."""

    def __init__(self) -> None:
        super().__init__()
        self.gated = AttachmentGate(self.attachments())

    def upload(self, number: int = 0, user: str = "alice", room: str = "hall", **more: Any) -> str:
        name = file_name(user, room, IDS[number])
        self.files.put(name, **more)
        return name

    def errors(self, *events: ValidatedEvent, user: str = "alice") -> list[Any]:
        return [
            (error and [(each.field, each.message) for each in error.details]) or error
            for error in self.gated.admit(caller(user), events, self.clock.now())
        ]


@pytest.fixture
def world() -> World:
    return World()


def test_other_attachments_make_another_message_and_the_same_ones_the_same() -> None:
    keys = {accepted(attachment(number), messageId="m", timestamp="2025-11-21T10:00:00Z").key for number in (0, 1, 0)}

    assert len(keys) == 2


@pytest.mark.parametrize(
    ("wrong", "field", "text"),
    [
        ([], "attachments", "has too few items"),
        ([attachment(0), attachment(0)], "attachments", "names an upload twice"),
        ([attachment(id="a")], "attachments[0].id", "has another form"),
        ([attachment(), attachment(1, bytes=0)], "attachments[1].bytes", "is out of range"),
        ([attachment(bytes=10_000_001)], "attachments[0].bytes", "is out of range"),
        ([attachment(type="text/html")], "attachments[0].type", "is not one of the allowed values"),
        ([attachment(name="a/b")], "attachments[0].name", "contains '/'"),
        ([attachment(name="..")], "attachments[0].name", "is '..'"),
        ([attachment(name="a\u202egpj.exe")], "attachments[0].name", "contains a control of the direction of writing"),
        ([attachment(url="https://elsewhere.example")], "attachments[0].url", "is not a field of this event"),
    ],
)
def test_a_wrong_attachment_is_named_by_its_place(wrong: list[Any], field: str, text: str) -> None:
    assert refused(*wrong) == [(field, text)]


def test_eleven_attachments_are_too_many_and_a_join_has_none() -> None:
    eleven = [attachment(id=f"{'b' * 25}{letter}") for letter in "abcdefghijk"]
    assert refused(*eleven)[0][0] == "attachments"
    join = {"roomId": "hall", "message": "x", "messageType": "JOIN", "attachments": [attachment()]}
    with pytest.raises(InvalidEvent, match="is only for TEXT") as caught:
        CHAT.accept(join, sender("gate", trusted=True))
    assert caught.value.details[0].field == "attachments"


def test_a_message_that_is_sent_again_does_not_take_the_file_of_a_stored_one_back(world: World) -> None:
    name, message = world.upload(), accepted(attachment())
    world.errors(message)
    assert memory_attachments(world.files).keep([message.event])

    assert world.errors(message) == [None]
    assert world.files.states == {name: "stored"}


def test_a_file_is_of_one_message(world: World) -> None:
    world.upload()
    first, second = (accepted(attachment(), messageId=each, timestamp=NOW) for each in ("m-1", "m-2"))
    taken = [("attachments[0].id", "is the file of another message")]

    assert world.errors(first, second) == [None, taken]
    assert world.errors(second) == [taken]
    assert world.errors(first) == [None]


def test_of_two_messages_that_name_a_file_at_the_same_moment_one_wins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.upload()
    first, second = (accepted(attachment(), messageId=each, timestamp=NOW) for each in ("m-1", "m-2"))
    look = world.files.look

    def while_another_is_accepted(*asked: Any) -> Any:
        found = look(*asked)
        monkeypatch.undo()
        assert world.errors(second) == [None]
        return found

    monkeypatch.setattr(world.files, "look", while_another_is_accepted)
    (error,) = world.errors(first)

    assert isinstance(error, StoreUnavailable)
    assert world.errors(first) == [[("attachments[0].id", "is the file of another message")]]
    assert world.errors(second) == [None]


@pytest.mark.parametrize(
    ("upload", "named", "error"),
    [
        ({"number": 1}, {}, ("attachments[0].id", "is not uploaded")),
        ({"user": "bob"}, {}, ("attachments[0].id", "is not uploaded")),
        ({"room": "kitchen"}, {}, ("attachments[0].id", "is not uploaded")),
        ({}, {"bytes": 7}, ("attachments[0].bytes", "is not the size of the file")),
        ({"type": "image/gif"}, {}, ("attachments[0].type", "is not the type of the upload")),
        (
            {"body": b"<script>" * 4},
            {"bytes": 32},
            ("attachments[0].type", "is not the type of the file, by its first bytes"),
        ),
    ],
)
def test_a_file_that_is_not_what_the_message_says_is_refused(
    world: World, upload: dict[str, Any], named: dict[str, Any], error: tuple[str, str]
) -> None:
    world.upload(**upload)

    assert world.errors(accepted(attachment(**named))) == [[error]]
    assert "waiting" not in world.files.states.values()


def test_a_file_that_the_bucket_may_remove_any_moment_cannot_be_named(world: World) -> None:
    world.upload(at=datetime.fromtimestamp(world.clock.now() / SECOND, UTC) - timedelta(hours=23, minutes=1))

    assert world.errors(accepted(attachment())) == [[("attachments[0].id", "is not uploaded")]]


def test_a_batch_keeps_a_limited_number_of_files_and_the_rest_later(world: World) -> None:
    messages = [
        accepted(*[attachment(number) for number in range(10)], messageId=f"m-{n}", timestamp=NOW).event
        for n in range(51)
    ]

    *others, last = keep(world.attachments(), messages)

    assert others == [None] * 50
    assert isinstance(last, FollowUpUnavailable)


def test_while_the_bucket_is_away_only_messages_with_attachments_are_refused(world: World) -> None:
    world.upload()
    world.files.calls_left = 0
    plain = CHAT.accept({"roomId": "hall", "message": "hello"}, sender("alice"))

    errors = world.gated.admit(caller("alice"), [plain, accepted(attachment())], world.clock.now())

    assert errors[0] is None
    assert isinstance(errors[1], StoreUnavailable)


def test_a_request_names_a_limited_number_of_attachments(world: World) -> None:
    messages = []
    for first in range(AT_MOST // 10 + 1):
        ids = [f"{'ab'[first // 10]}{'abcdefghij'[first % 10]}{each[2:]}" for each in IDS]
        for each in ids:
            world.files.put(file_name("alice", "hall", each))
        messages.append(accepted(*[attachment(id=each) for each in ids], messageId=f"m-{first}", timestamp=NOW))

    *others, last = world.errors(*messages)

    assert others == [None] * (AT_MOST // 10)
    assert last == [("attachments", "is too much for one request")]


def test_a_file_that_cannot_be_kept_yet_is_kept_by_a_later_try(world: World) -> None:
    world.upload()
    world.files.calls_left = 0

    (outcome,) = keep(world.attachments(), [accepted(attachment()).event])

    assert isinstance(outcome, FollowUpUnavailable)


def test_a_stored_message_whose_file_is_gone_is_no_failure() -> None:
    assert keep(NO_FILES, [accepted(attachment()).event]) == [None]


@pytest.mark.parametrize("is_late", [False, True])
def test_the_files_of_a_deleted_message_are_gone_in_any_order(world: World, is_late: bool) -> None:
    other = world.upload(1)
    world.upload()
    message = world.message("alice", "look", room="hall", age=300 if is_late else 0, attachments=[attachment()])
    deletion = world.change("alice", message).event
    deletion["by"] = "author"

    for event in (deletion, message) if is_late else (message, deletion):
        world.put(event)

    assert list(world.files.objects) == [other]
    assert "attachments" not in world.row(message)
    assert "deletedAt" in world.row(message)


def test_a_deletion_waits_until_the_files_can_be_deleted(world: World) -> None:
    world.upload()
    message = world.message("alice", "look", room="hall", attachments=[attachment()])
    deletion = world.change("alice", message).event
    deletion["by"] = "author"
    world.put(message)
    world.files.calls_left = 0

    (outcome,) = world.put(deletion)
    assert isinstance(outcome, FollowUpUnavailable)
    assert "deletedAt" not in world.row(message)

    world.files.calls_left = 10
    world.put(deletion)
    assert (world.files.objects, "deletedAt" in world.row(message)) == ({}, True)


def test_a_link_shows_checked_images_and_saves_all_other_files() -> None:
    row = {"userId": "alice", "roomId": "hall"}
    row |= {"attachments": [attachment(), attachment(1, name="a b.pdf", type="application/pdf")]}

    image, paper = NO_FILES.linked(row)

    assert image["url"].endswith("as=cat.png&for=600&inline")
    assert paper["url"].endswith("as=a b.pdf&for=600")


@pytest.mark.parametrize(
    ("first", "type", "fits"),
    [
        (PNG, "image/png", True),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg", True),
        (b"GIF89a", "image/gif", True),
        (b"RIFF\x00\x00\x00\x00WEBP", "image/webp", True),
        (b"RIFF\x00\x00\x00\x00WAVE", "image/webp", False),
        (PNG, "image/gif", False),
        (b"", "image/png", False),
        (b"<html>", "text/plain", True),
    ],
)
def test_the_first_bytes_of_an_image_decide_its_type(first: bytes, type: str, fits: bool) -> None:
    assert is_of_type(first, type) is fits


def test_the_name_of_a_file_has_the_room_and_hides_the_user() -> None:
    (name,) = names_of({"userId": "alice", "roomId": "a/b", "attachments": [attachment()]})

    assert name.startswith(folder_of("alice"))
    assert "alice" not in name
    assert room_of(name) == "a/b"
