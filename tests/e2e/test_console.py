"""The console in Chromium, on a whole stage. ``make test-console`` is the whole form, with the broker killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from ops.console import bundle
from tests.e2e.clients import Client, unique, until
from tests.e2e.conftest import ROOT, RunningStage
from tests.e2e.test_dead_letters import SECONDS, Queues, discard_all, good, letters
from tests.e2e.test_typescript_client import CHROMIUM, node

TESTS = ROOT / "console" / "tests"
WHOLE = bool(os.environ.get("CONSOLE"))
STORABLE = 40
"""Letters that one slice of a redrive at the lowest rate does not move all."""


def tried(stage: RunningStage, folder: Path, *names: str, seconds: int = 280, **more: str) -> list[str]:
    """What files of tests print in lines that begin with ``console:``."""
    if CHROMIUM is None:
        pytest.skip("Chromium is missing, so the console was not tried. Install it: apt-get install chromium")
    printed = node(
        stage,
        "--test",
        "--test-force-exit",
        "--test-concurrency=1",
        f"--test-timeout={1000 * seconds}",
        *(TESTS / name for name in names),
        folder=folder,
        seconds=seconds,
        CHROMIUM=CHROMIUM,
        **more,
    )
    found = re.findall(r"^#? ?(console: .*)$", printed, re.M)
    print("\n".join(found))
    return found


@pytest.mark.timeout(300)
def test_the_console_shows_what_is_kept_and_two_users_talk(platform: RunningStage, typescript_client: Path) -> None:
    found = tried(platform, typescript_client, "console.test.mjs", "overview.test.mjs")

    assert len(found) == (2 if WHOLE else 1)


@pytest.mark.timeout(300)
def test_two_users_talk_in_rooms_of_the_console(platform: RunningStage, typescript_client: Path) -> None:
    assert len(tried(platform, typescript_client, "history.test.mjs", "rooms.test.mjs")) == 1


@pytest.mark.timeout(300)
def test_messages_are_changed_answered_and_reacted_to_in_the_console(
    platform: RunningStage, typescript_client: Path
) -> None:
    tried(platform, typescript_client, "changes.test.mjs", "replies.test.mjs", "reactions.test.mjs")


@pytest.mark.timeout(300)
def test_files_are_sent_and_shown_in_the_console(platform: RunningStage, typescript_client: Path) -> None:
    tried(platform, typescript_client, "attachments.test.mjs")


@pytest.mark.timeout(300)
def test_people_are_exported_and_erased_in_the_console(platform: RunningStage, typescript_client: Path) -> None:
    tried(platform, typescript_client, "people.test.mjs")


@pytest.mark.timeout(300)
def test_people_and_operators_sign_in_to_the_console_as_on_aws(platform: RunningStage, typescript_client: Path) -> None:
    """With the files that ``python -m ops publish-console`` puts into the bucket."""
    bundled = {key: str(path) for key, path in asyncio.run(bundle(ROOT / ".local")).items()}

    assert len(tried(platform, typescript_client, "sign-in.test.mjs", BUNDLE=json.dumps(bundled))) == 1


@pytest.mark.timeout(620)
def test_everybody_can_use_the_console(platform: RunningStage, typescript_client: Path) -> None:
    """By the rules of axe, with the keyboard alone, and without motion."""
    assert len(tried(platform, typescript_client, "access.test.mjs", seconds=600 if WHOLE else 280)) == 1


@pytest.mark.timeout(620)
def test_the_console_scrolls_a_long_room_to_its_first_message(platform: RunningStage, typescript_client: Path) -> None:
    found = tried(platform, typescript_client, "rooms-history.test.mjs", seconds=600 if WHOLE else 280)

    assert len(found) == (2 if WHOLE else 1)


@pytest.mark.timeout(620)
def test_the_console_answers_questions_as_the_api_does(platform: RunningStage, typescript_client: Path) -> None:
    tried(platform, typescript_client, "questions.test.mjs", seconds=600)


@pytest.mark.timeout(300)
def test_operators_redrive_and_discard_dead_letters_in_the_console(
    platform: RunningStage, typescript_client: Path
) -> None:
    discard_all(platform)
    queues, room, text = Queues(platform), unique("room"), "<img src=x onerror='window.hacked = 1'>"
    queues.send(queues.retry, f'{{"v": 1, "{text}')
    for number in range(STORABLE):
        queues.send(queues.dead, good(room, f"m-{number}").decode())
    operator = Client(platform, None, "ops")
    until(lambda: letters(operator)["count"], lambda count: count == STORABLE + 1, SECONDS)

    given = json.dumps({"text": text, "room": room, "storable": STORABLE})
    tried(platform, typescript_client, "dead-letters.test.mjs", LETTERS=given)
