"""One point of a sweep: a stage with its setting, the load, and what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.services import database
from bench.sweep.grid import Setting
from loadtest.client.stage_process import SeparateStage, StageFailed
from loadtest.client.stage_template import write_template
from loadtest.client.target import Target
from localstage.client.running_stage import ROOT
from localstage.core.tcp_proxy import delayed

STATE = ROOT / ".local" / "bench-sweep"
PATIENCE = 300.0
"""Seconds that the load of one point may take."""


@dataclass(frozen=True)
class Point:
    """What a setting results in. Latencies are milliseconds until a message is in its room's history.

    ``full`` is with frames of 25, which fill the queues, ``single`` with single frames, which do not. ``calls`` counts
    invocations of persist_events.
    """

    setting: Setting
    stored_per_second: float
    full_p50: float
    full_p99: float
    single_p50: float
    single_p99: float
    calls: int
    stored: int
    lost: int
    whole: bool
    seconds: float


def measure(setting: Setting, messages: int, delay: float = 0.0) -> Point:
    """Start a stage with ``setting``, send ``messages`` in frames of 25 and a fifth of them singly, and stop it.

    Its DynamoDB answers ``delay`` seconds later.

    Raises:
        StageFailed: the stage did not start, or the load had no result.
    """
    began = time.monotonic()
    template = write_template(STATE / "template", setting.edits(), setting.parameters())
    with (
        _store(delay) as variables,
        closing(SeparateStage(STATE, "--template", str(template), environment=variables)) as stage,
    ):
        target = stage.start()
        before = _invocations(stage)
        full, single = _load(target, messages)
        calls = _invocations(stage) - before
    found = [phase["found"] or {"stored": 0, "lost": 0} for phase in (full, single)]
    return Point(
        setting,
        stored_per_second=round(found[0]["stored"] / full["readableAfter"]) if full["readableAfter"] else 0.0,
        full_p50=_milliseconds(full, "p50"),
        full_p99=_milliseconds(full, "p99"),
        single_p50=_milliseconds(single, "p50"),
        single_p99=_milliseconds(single, "p99"),
        calls=calls,
        stored=sum(each["stored"] for each in found),
        lost=sum(each["lost"] for each in found),
        whole=full["whole"] and single["whole"],
        seconds=round(time.monotonic() - began, 1),
    )


@contextmanager
def _store(delay: float) -> Iterator[dict[str, str]]:
    """The variables of a stage whose DynamoDB answers later; without a delay the stage starts its own."""
    if not delay:
        yield {}
        return
    with database(of_the_stage=True) as found, delayed(found.port, delay) as port:
        yield {"LOCALSTAGE_DYNAMODB_URL": f"http://127.0.0.1:{port}"}


def _load(target: Target, messages: int) -> list[dict[str, Any]]:
    """The results of both phases of the shape ``frames``."""
    urls = {"HTTP_URL": target.http_url, "WS_URL": target.websocket_url, "TOKEN_URL": target.token_url}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "loadtest.load", "--shape", "frames", "--messages", str(messages)]
        command += ["--results", folder]
        output = _run(command, {**os.environ, **urls})
        results = list(Path(folder).glob("*.json"))
        phases: list[dict[str, Any]] = json.loads(results[0].read_text())["phases"] if results else []
    if len(phases) != 2:
        raise StageFailed(f"the load ended early: {' '.join(output.strip().splitlines()[-1:])}")
    return phases


def _run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The output of ``command``; its whole process group is killed at the end, also after Ctrl-C."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        raise StageFailed(f"the load took over {PATIENCE:.0f} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _milliseconds(phase: dict[str, Any], share: str) -> float:
    return round(1000 * float(phase["latencies"].get("durable", {}).get(share, 0.0)), 1)


def _invocations(stage: SeparateStage) -> int:
    """Invocations of persist_events so far."""
    return int(stage.status()["functions"]["PersistEvents"]["invocations"])
