"""The ports of a stage: taken at its start, long before the gateway serves them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from localstage import stage as stages
from localstage.gateway.serving import listen
from localstage.stage import Options, Stage


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port that is free now, as the usual one."""
    with listen(0) as probe:
        port = int(probe.getsockname()[1])
    monkeypatch.setattr(stages, "HTTP_PORT", port)
    monkeypatch.setattr(stages, "WEBSOCKET_PORT", 0)
    monkeypatch.setattr(stages, "REFERENCE_PORT", 0)
    return port


def options(folder: Path, http_port: int | None = None) -> Options:
    return Options(folder / "missing.yaml", folder, http_port=http_port)


def test_a_usual_port_that_is_in_use_is_replaced_by_a_free_one_and_the_log_names_its_holder(
    tmp_path: Path, usual: int, caplog: pytest.LogCaptureFixture
) -> None:
    with listen(usual):
        stage = Stage(options(tmp_path))
        stage.take_ports()
        stage.free_ports()

    assert re.match(rf"{usual} is taken by \S+ \(PID {os.getpid()}\): using \d+$", caplog.messages[0])
