"""The commands say what they do to whoever runs them."""

from __future__ import annotations

import fcntl
import inspect
from pathlib import Path

import pytest

from faults.__main__ import ABOUT, DAYS, expected_seconds, main, said, total
from faults.account import Row
from faults.world import World
from localstage.errors import AlreadyRunning


def test_every_day_has_a_sentence_a_duration_and_one_name() -> None:
    for name, day in DAYS.items():
        assert said(name).endswith(".")
        assert f'"{name}"' in inspect.getsource(day)

    assert set(ABOUT) == set(DAYS)


def test_two_days_of_which_one_fits_into_the_others_wait_are_announced_as_the_longer_one() -> None:
    apart = [expected_seconds([name]) for name in ("lethal-record", "function-frozen")]

    together = expected_seconds(["lethal-record", "function-frozen"])

    assert max(apart) <= together < sum(apart) / 2 + 60


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
