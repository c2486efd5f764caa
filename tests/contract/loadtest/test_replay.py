"""A whole replay over real sockets reports a lost event in its last line and exit code."""

from __future__ import annotations

import logging

import pytest

from loadtest import demo
from loadtest.checker import readback
from tests.contract.loadtest.fake_stage import FakeStage

LOG = logging.getLogger("headrace_client")


@pytest.fixture(autouse=True)
def urls(stage: FakeStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Demos go to the fake stage, and wait half a second for what is missing."""
    monkeypatch.setenv("HTTP_URL", stage.http_url)
    monkeypatch.setenv("WS_URL", stage.websocket_url)
    monkeypatch.setenv("TOKEN_URL", stage.token_url)
    for name in ("handlers", "propagate", "level"):  # other tests get them back
        monkeypatch.setattr(LOG, name, getattr(LOG, name))
    monkeypatch.setitem(readback.drain_and_read.__kwdefaults__, "patience", 0.5)


def test_a_lost_event_shows_in_the_last_line_and_exits_1(stage: FakeStage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.faults.lose = 77

    assert demo.main(["--messages", "300"]) == 1

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("accepted=300 stored=299 lost=1 unexpected=0 duplicated=0 acks p50=")


def test_a_log_that_does_not_exist_is_reported_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--log", "/nowhere/*.log"]) == 1
    assert capsys.readouterr().err == "headrace: LOG: no file matches /nowhere/*.log\n"
