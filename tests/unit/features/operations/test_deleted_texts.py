"""P12: operators who look at dead letters do not see the texts of deleted messages."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from headrace.features.edits.deleted_texts import SECONDS, DeletedTexts
from headrace.features.operations.dead_letter import Filter
from headrace.features.operations.dead_letter_texts import with_bodies
from headrace.queues.ports import RetryRecord
from tests.unit.delivery.test_persister import envelope, event
from tests.worlds.dead_letters import Dead
from tests.worlds.message_changes import CHANGES
from tests.worlds.senders import CHAT, NOW, TABLE, sender
from tests.worlds.write_path import row_of


@pytest.fixture
def dead() -> Dead:
    return Dead()


def change(message: dict[str, Any], text: str | None = None, user: str = "alice") -> dict[str, Any]:
    """The event of an edit of ``message``, or without a text of its deletion."""
    key = CHAT.item(message, 0, TABLE)["timestampSk"]
    raw = {"roomId": message["roomId"], "key": key, "change": "edit" if text else "delete", "timestamp": NOW}
    return CHANGES.accept(raw | ({"message": text} if text else {}), sender(user)).event


def store(dead: Dead, *changes: dict[str, Any]) -> None:
    """Store changes of messages that are not stored yet, as persist_events does."""
    for each in changes:
        row = row_of(each, 0)
        dead.changes.rows[row["roomId"], row["timestampSk"]] = row
        dead.changes.await_message(each["roomId"], each["key"], "1", None)


def bury(dead: Dead, *events: dict[str, Any], change_body: Callable[[bytes], bytes] = bytes) -> str:
    """Put a letter with ``events`` into the dead lane; its body."""
    body = change_body(envelope(*events))
    dead.bury(RetryRecord(body, {}))
    return body.decode()


def test_the_text_of_a_message_that_was_deleted_before_it_was_stored_is_not_shown(dead: Dead) -> None:
    deleted, kept = event("m-1", message="secret"), event("m-2", message="hello")
    body = bury(dead, deleted, kept)
    store(dead, change(deleted))

    (item,) = dead.list(bodies="true")["items"]

    stub = {**deleted, "message": "", "deletedAt": NOW, "deletedBy": "alice"}
    assert json.loads(item["body"]) == {**json.loads(body), "events": [stub, kept]}
    assert item["textsWithheld"] == {"deleted": 1, "unchecked": 0}
    (whole,) = dead.list(bodies="true", id=item["id"])["items"]
    assert whole["body"] == item["body"]


def test_letters_are_shown_as_they_are_when_nothing_was_deleted(dead: Dead) -> None:
    edited, other = event("m-1"), event("m-2")
    bodies = {bury(dead, edited), bury(dead, other), bury(dead, event(roomId="hall"))}
    store(dead, change(edited, "hello again"))

    items = dead.list(bodies="true")["items"]

    assert {item["body"] for item in items} == bodies
    assert not any("textsWithheld" in item for item in items)


def test_the_text_of_an_edit_of_a_deleted_message_is_not_shown(dead: Dead) -> None:
    message = event("m-1")
    bury(dead, change(message, "secret"))
    store(dead, change(message))

    (item,) = dead.list(bodies="true")["items"]

    assert json.loads(item["body"])["events"][0]["message"] == ""
    assert item["textsWithheld"] == {"deleted": 1, "unchecked": 0}


def test_the_text_of_a_deleted_message_that_is_delivered_again_is_not_shown(dead: Dead) -> None:
    deleted, kept = event("m-1", message="secret"), event("m-2", message="hello")
    rows = [row_of(each, 0) for each in (deleted, kept)]
    rows[0] |= {"message": "", "deletedAt": NOW, "deletedBy": "alice"}
    dead.changes.rows |= {(row["roomId"], row["timestampSk"]): row for row in rows}
    bury(dead, deleted, kept)

    (item,) = dead.list(bodies="true")["items"]

    assert [each["message"] for each in json.loads(item["body"])["events"]] == ["", "hello"]
    assert item["textsWithheld"] == {"deleted": 1, "unchecked": 0}


def test_only_a_deletion_that_counts_hides_a_text(dead: Dead) -> None:
    message = event("m-1", message="hello")
    bury(dead, message)
    store(dead, change(message, user="mallory"))

    assert "hello" in dead.list(bodies="true")["items"][0]["body"]

    store(dead, change(message, user="olga") | {"by": "owner"})
    assert "hello" not in dead.list(bodies="true")["items"][0]["body"]


def test_no_text_is_shown_while_deletions_cannot_be_looked_up(dead: Dead) -> None:
    bury(dead, event("m-1", message="secret"), event("m-2", message="hello"))
    broken = bury(dead, {"roomId": "kitchen", "message": "without an author"})
    dead.changes.down = True

    items = dead.list(bodies="true")["items"]

    (item,) = [each for each in items if each["body"] != broken]
    assert [each["message"] for each in json.loads(item["body"])["events"]] == ["", ""]
    assert item["textsWithheld"] == {"deleted": 0, "unchecked": 2}
    assert len(items) == 2
    assert all("body" not in each for each in dead.list()["items"])


def test_no_text_is_shown_if_the_look_up_takes_too_long(dead: Dead) -> None:
    message = event("m-1", message="secret")
    bury(dead, message, event("m-2"))
    store(dead, change(message))
    seconds = iter([0.0, SECONDS + 0.1])
    screens = {"chat": DeletedTexts(dead.changes, lambda: next(seconds)).hidden}

    (item,) = with_bodies(dead.letters.find(Filter()).letters, 2000, screens)

    assert item["textsWithheld"] == {"deleted": 0, "unchecked": 2}
    assert "secret" not in item["body"]


def test_a_record_that_cannot_be_stored_hides_the_text_of_a_deleted_message_too(dead: Dead) -> None:
    message = event("m-1", message="secret")
    store(dead, change(message))
    bury(dead, {**message, "messageType": "SHOUT"})
    bury(dead, {**message, "message": ["secret"]})
    bury(dead, message, change_body=lambda body: body.replace(b'"v":1', b'"v":2'))

    items = dead.list(bodies="true")["items"]

    assert len(items) == 3
    assert not [item for item in items if "secret" in item["body"]]


def test_a_record_in_base64_stays_in_base64(dead: Dead) -> None:
    message = event("m-1", message="secret")
    store(dead, change(message))
    body = envelope(message).replace(b'"acceptedAt"', '"\x7f": "\ufffe", "acceptedAt"'.encode())
    dead.bury(RetryRecord(body))

    (item,) = dead.list(bodies="true")["items"]

    assert item["encoding"] == "base64"
    assert json.loads(base64.b64decode(item["body"]))["events"][0]["message"] == ""
    assert item["textsWithheld"] == {"deleted": 1, "unchecked": 0}


def test_a_redrive_moves_the_record_as_it_is(dead: Dead) -> None:
    message = event("m-1", message="secret")
    body = bury(dead, message)
    store(dead, change(message))
    dead.list(bodies="true")

    assert dead.call("POST /dead-letters/redrive", {})[1]["moved"] == 1
    assert [record.body.decode() for record in dead.retry.records] == [body]
