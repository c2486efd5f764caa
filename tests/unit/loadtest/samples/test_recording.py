"""Samples never fail a run: what is missing is named."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from loadtest.client.target import Target
from loadtest.samples import recording
from loadtest.samples.processes import ProcessUsage
from loadtest.samples.recording import Recording

NOWHERE = Target("http://127.0.0.1:1", "ws://127.0.0.1:1")


def test_a_process_that_ends_early_is_named_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target has no token, and none is named."""
    for name in ("TOKEN_URL", "CLIENT_ID", "TOKEN", "TOKENS"):
        monkeypatch.delenv(name, raising=False)

    taking = Recording(NOWHERE)
    taking.wait()
    samples = taking.finish()

    assert samples["times"] == []
    assert samples["notes"][0].startswith("The process that takes samples has ended early. ")
    assert "TokenRefused" in samples["notes"][0]


def test_a_program_that_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))

    assert Recording(NOWHERE).finish() == recording.nothing("The process that takes samples did not start.")


def test_the_cpu_and_memory_of_a_process_are_counted_since_the_first_look() -> None:
    usage = ProcessUsage()
    first, _ = usage.take({os.getpid(): "tests"})
    deadline = time.process_time() + 0.2
    while time.process_time() < deadline:
        pass
    second, memory = usage.take({os.getpid(): "tests"})

    assert first["tests"] == 0.0
    assert second["tests"] >= 0.19
    assert memory["tests"] > 1_000_000
