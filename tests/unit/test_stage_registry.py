"""What features add to the core arrives there: hooks, completion, removal, steps of erasures, sources of exports."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.features.attachments import storing as attachments
from headrace.features.attachments.files import names_of
from headrace.features.edits import storing as edits
from headrace.features.edits.change import KIND as EDIT
from headrace.features.reactions import storing as reactions
from headrace.features.reactions.counts import ReactionCounts
from headrace.features.reactions.reaction import KIND as REACTION
from headrace.stage import registry
from headrace.stage.chosen import FEATURES, made, parts
from tests.worlds.change_world import ChangeWorld


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> ChangeWorld:
    """A world whose table, rooms and files the stage uses."""
    world = ChangeWorld()
    monkeypatch.setattr(edits, "changes", lambda: world.store)
    monkeypatch.setattr(reactions, "counts", lambda: ReactionCounts(world.store, world.clock))
    monkeypatch.setattr(attachments, "attachments", world.attachments)
    given = {"rooms": world.rooms, "memberships": world.memberships, "message_table": world.store}
    for name, each in {**given, "clock": world.clock, "live_hook": world.copies.hook}.items():
        monkeypatch.setattr(edits, name, lambda each=each: each)
    return world


def changed(world: ChangeWorld) -> dict[str, Any]:
    """The row of a message with a file that was edited, and that alice reacted to."""
    file = {"id": "a" * 26, "name": "cat.png", "type": "image/png", "bytes": 9}
    message = world.message("bob", "helo", age=60, attachments=[file])
    assert world.put(message, world.change("bob", message, "hello").event) == [None, None]
    assert world.put(world.reaction("alice", message, "+1").event) == [None]
    return world.row(message)


def test_the_rows_of_features_are_checked_and_applied_by_their_hooks(world: ChangeWorld) -> None:
    assert [kind for kind, _ in made("before")] == [EDIT.name, REACTION.name]
    assert [kind for kind, _ in made("after")] == ["chat", EDIT.name, REACTION.name, "ski"]


def test_what_is_kept_beside_a_message_is_removed_with_it(world: ChangeWorld) -> None:
    row = changed(world)
    (name,) = names_of(row)
    world.files.put(name)

    registry.remove(row)

    assert world.write_path.rows() == [row]
    assert name not in world.files.objects


def test_an_awaited_message_is_completed_by_every_feature(world: ChangeWorld) -> None:
    row = changed(world)
    bare = {name: row[name] for name in ("roomId", "timestampSk", "userId", "timestamp", "messageId", "messageType")}

    message = {**bare, "message": "helo"}
    for complete in parts("complete", FEATURES):
        complete(message)

    assert (message["message"], message["reactions"]) == ("hello", {"+1": 1})


def test_a_user_is_erased_and_exported_from_every_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("CHAT_MESSAGES_TABLE", "RESORTS_TABLE", "LIFT_RIDES_TABLE", "AD_CLICKS_TABLE", "DECLARED_TABLE"):
        monkeypatch.setenv(table, "a-table")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("CACHE_ENDPOINT", "127.0.0.1:6379")

    steps = [*made("steps_first", FEATURES), *made("steps", FEATURES)]

    assert len(steps) == len(made("sources", FEATURES, "ann", "7")) == 6
    assert made("archive_steps", FEATURES) == []
    monkeypatch.setenv("ARCHIVE_BUCKET", "a-bucket")
    assert len(made("archive_steps", FEATURES)) == 1
