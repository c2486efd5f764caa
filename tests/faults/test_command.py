"""The commands say what they do to whoever runs them."""

from __future__ import annotations

import fcntl
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import faults.__main__ as command
from faults.__main__ import ABOUT, DAYS, expected_seconds, main, said, total
from faults.harness import World
from faults.ledger import Row
from faults.template import ROOT
from faults.traffic import TRAFFIC
from loadtest.client import LoadTestError
from localstage.errors import AlreadyRunning


def name_of_row(name: str) -> str:
    """What a day calls its row; before it stands the stream, if it is any stream's day."""
    stream, _, rest = name.partition("-")
    return rest if stream in TRAFFIC else name


def test_every_day_has_a_sentence_a_duration_and_one_name() -> None:
    for name, day in DAYS.items():
        assert said(name).endswith(".")
        assert f'"{name_of_row(name)}"' in inspect.getsource(day)

    assert set(ABOUT) == set(DAYS)


def test_days_inside_anothers_wait_are_announced_as_the_longer_of_both() -> None:
    frozen = expected_seconds(["function-frozen"])
    others = expected_seconds(["lethal-record", "parked-batch"])

    together = expected_seconds(["lethal-record", "parked-batch", "function-frozen"])

    assert max(frozen, others) <= together <= max(frozen, others) + 20


def test_an_unknown_day_names_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker-kiled"]) == 2

    said_so = capsys.readouterr().err
    assert "no such day: broker-kiled" in said_so
    assert all(name in said_so for name in DAYS)


def row(day: str, *problems: str) -> Row:
    return Row(day, 1.0, 10, 9, 2, 0, 0, len(problems), 0, 0, 3, problems=problems)


def test_the_last_line_names_the_days_that_broke_a_promise_and_how_long_all_took() -> None:
    said_so = total([row("a"), row("b", "lost 1: ['id']")], 3, 83.9)

    assert said_so.startswith("2 of 3 days in 1 min 23 s: accepted=20 stored=18 ")
    assert said_so.endswith("503s=6: 1 FAILED (b)")


def test_the_last_line_of_a_good_run_says_so() -> None:
    assert total([row("a")], 1, 5.0).endswith(": every promise kept")


def test_a_second_run_in_the_same_folder_touches_nothing_of_the_first(tmp_path: Path) -> None:
    data = tmp_path / "backing" / "services"
    data.mkdir(parents=True)
    with (tmp_path / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = World(tmp_path)

        with pytest.raises(AlreadyRunning, match="one at a time"):
            second.start()
        second.stop()

    assert data.exists()


def test_every_day_is_on_the_page_about_them() -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")

    assert [name for name in DAYS if f"`{name}`" not in page] == []


class IdleWorld:
    """Starts nothing."""

    stopped = 0

    def start(self) -> None:
        pass

    def stop(self) -> None:
        IdleWorld.stopped += 1


def play(monkeypatch: pytest.MonkeyPatch, **days: Callable[[World], Row]) -> int:
    """The command's exit code on these days."""
    monkeypatch.setattr(command, "World", IdleWorld)
    monkeypatch.setattr(command, "DAYS", days)
    monkeypatch.setattr(command, "ABOUT", {**ABOUT, **dict.fromkeys(days, 1)})
    IdleWorld.stopped = 0
    return main(list(days))


def good(_world: World) -> Row:
    """All went well."""
    return row("good")


def bad(_world: World) -> Row:
    """Something was lost."""
    return row("bad", "lost 1: ['id']")


def broken(_world: World) -> Row:
    """The day itself fails."""
    raise LoadTestError("the history cannot be read")


def test_a_broken_promise_ends_with_1_after_all_other_days(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch, good=good) == 0
    assert play(monkeypatch, bad=bad, good=good) == 1

    shown = capsys.readouterr().out
    assert "lost 1: ['id']" in shown
    assert "2 of 2  good, about 1 s: All went well." in shown


def test_a_run_that_cannot_go_on_shows_the_days_until_then_and_cleans_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch, good=good, broken=broken, bad=bad) == 1

    shown = capsys.readouterr()
    assert "1 of 3 days in 0 min" in shown.out
    assert "the history cannot be read" in shown.err
    assert IdleWorld.stopped == 1
