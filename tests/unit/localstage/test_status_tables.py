"""``make status`` prints tables that a terminal of any width can show."""

from __future__ import annotations

import pytest

from localstage import status
from localstage.core.statefile import Running
from localstage.triggers.pacing import Status


def test_a_narrow_terminal_cuts_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    reason = "the broker 127.0.0.1:28101 does not answer"
    trigger = Status("PersistEventsChat0", "rabbitmq", "persist.chat.0", "PersistEvents", "waiting", reason, 7)
    monkeypatch.setattr(status, "_asked", lambda *_: {"triggers": [vars(trigger)]})
    monkeypatch.setenv("COLUMNS", "60")

    status.print_status(Running(1, "http://h", "ws://w", "", "", "http://s/", 0.0))

    assert f"PersistEventsChat0 persist.chat.0 waiting {reason}    7" in capsys.readouterr().out
