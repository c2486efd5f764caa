"""A whole replay over real sockets reports lost and changed events in its last line and exit code."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

import pytest

from loadtest import demo
from loadtest.checker import readback
from tests.contract.loadtest.fake_stage import FakeStage

LOG = logging.getLogger("headrace_client")
LINE = re.compile(
    r"accepted=(?P<accepted>\d+) stored=(?P<stored>\d+) lost=(?P<lost>\d+) unexpected=(?P<unexpected>\d+) "
    r"duplicated=(?P<duplicated>\d+) acks p50=\d+ms p99=\d+ms durable p50=\d+ms p99=\d+ms"
)
Run = Callable[..., tuple[int, dict[str, int]]]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def urls(stage: FakeStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Demos go to the fake stage."""
    monkeypatch.setenv("HTTP_URL", stage.http_url)
    monkeypatch.setenv("WS_URL", stage.websocket_url)
    monkeypatch.setenv("TOKEN_URL", stage.token_url)
    for name in ("handlers", "propagate", "level"):  # other tests get them back
        monkeypatch.setattr(LOG, name, getattr(LOG, name))


@pytest.fixture
def run(stage: FakeStage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command against the fake stage; returns the exit code and the numbers of its last line."""
    monkeypatch.setattr(readback.drain_and_read, "__kwdefaults__", {
        **readback.drain_and_read.__kwdefaults__, "patience": 0.5,
    })  # fmt: skip

    def run(*arguments: str) -> tuple[int, dict[str, int]]:
        code = demo.main([*arguments])
        last = capsys.readouterr().out.splitlines()[-1]
        found = LINE.fullmatch(last)
        assert found, last
        return code, {name: int(value) for name, value in found.groupdict().items()}

    return run


def numbers(accepted: int, stored: int, lost: int = 0, unexpected: int = 0, duplicated: int = 0) -> dict[str, int]:
    return {
        "accepted": accepted, "stored": stored, "lost": lost, "unexpected": unexpected, "duplicated": duplicated,
    }  # fmt: skip


def test_a_replay_with_every_event_stored_exits_0(run: Run, stage: FakeStage) -> None:
    assert run("--messages", "400") == (0, numbers(400, 400))
    assert stage.connections == 2 * 24  # for the warm-up, and for the rest


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("lose", numbers(300, 299, lost=1)),
        ("alter", numbers(300, 299, lost=1, unexpected=1)),
        ("refuse", numbers(299, 299)),
    ],
)
def test_each_broken_promise_shows_in_the_last_line_and_exits_1(
    run: Run, stage: FakeStage, fault: str, expected: dict[str, int]
) -> None:
    setattr(stage.faults, fault, 77)

    assert run("--messages", "300") == (1, expected)


@pytest.mark.parametrize("fault", ["later_every", "cut_every"])
def test_failed_sends_are_retried_under_the_same_ids(run: Run, stage: FakeStage, fault: str) -> None:
    setattr(stage.faults, fault, 61)

    assert run("--messages", "300") == (0, numbers(300, 300))
    assert stage.frames > 300


def test_a_replay_whose_time_is_over_says_so_and_what_was_accepted(stage: FakeStage, capsys: Capture) -> None:
    stage.faults.behind = range(50, 10_000)

    assert demo.main(["--messages", "300", "--retry-timeout", "0.5"]) == 1

    output = capsys.readouterr().out
    assert "events not accepted in at most 0.5 s (RETRY_TIMEOUT): 1; the stage is behind" in output
    assert "accepted=49 stored=49 lost=0" in output.splitlines()[-1]


def test_a_log_that_does_not_exist_is_reported_in_one_sentence(capsys: Capture) -> None:
    assert demo.main(["--log", "/nowhere/*.log"]) == 1
    assert capsys.readouterr().err == "headrace: LOG: no file matches /nowhere/*.log\n"
