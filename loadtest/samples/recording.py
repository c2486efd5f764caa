"""The samples of a run: starts the process that takes them, and cuts out what belongs to a phase."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from loadtest.client.target import Target
from localstage.client.running_stage import ROOT

ENDED_WITHIN = 15.0
"""Seconds that the process gets to print its samples."""

Samples = Mapping[str, Any]
Sample = tuple[float, Mapping[str, Mapping[str, float | None]]]
"""Epoch seconds, and the values of the time before by kind and name; None is a value that is not known."""


class Recording:
    """The samples of a run. Nothing here fails a run: without samples there are notes that say why."""

    def __init__(self, target: Target) -> None:
        command = [sys.executable, "-m", "loadtest.samples.sampler"]
        command += ["--http-url", target.http_url, "--websocket-url", target.websocket_url]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=target.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait(self) -> None:
        """Wait until the process takes samples, or has ended."""
        assert self._process.stdout is not None  # noqa: S101 - for mypy: it is a pipe
        self._process.stdout.readline()

    def finish(self) -> dict[str, Any]:
        """End the process; return its samples."""
        output, errors = b"", b""
        try:
            output, errors = self._process.communicate(timeout=ENDED_WITHIN)
            found: dict[str, Any] = json.loads(output.rpartition(b"\n")[2])  # after the line that :meth:`wait` reads
        except (OSError, ValueError, subprocess.TimeoutExpired):
            self._process.kill()
            reason = errors.decode(errors="replace").strip().rpartition("\n")[2]
            return columns([]) | {"notes": [f"The process that takes samples has ended early. {reason}".strip()]}
        return found


def columns(samples: Sequence[Sample]) -> dict[str, Any]:
    """``samples`` as JSON: ``times``, and by kind and name a value for each of them. Two hours are about 4 MB."""
    found: dict[str, Any] = {}
    for row, (_, values) in enumerate(samples):
        for kind, by_name in values.items():
            for name, value in by_name.items():
                column = found.setdefault(kind, {}).setdefault(name, [None] * len(samples))
                column[row] = None if value is None else float(f"{value:.5g}")
    return {"times": [at for at, _ in samples], **found}


def since(samples: Samples, began: float) -> dict[str, Any]:
    """The samples with ``seconds`` of the run, which began at ``began`` (epoch seconds), instead of times."""
    rest = {kind: values for kind, values in samples.items() if kind != "times"}
    return {"seconds": [round(at - began, 1) for at in samples["times"]], **rest}


def usage(samples: Samples, begin: float, end: float) -> dict[str, Any]:
    """What was used from ``begin`` to ``end``, seconds of the run, in samples as :func:`since` returns them.

    ``cpuSeconds`` and ``memory`` (first, last and peak bytes) by process, the ``deepest`` of each queue, by function
    ``invocations``, ``mean`` and ``longest`` seconds, ``counts`` of metrics, and ``units`` as
    :class:`~loadtest.samples.capacity.ConsumedCapacity` names them. Empty without samples.
    """
    times = samples["seconds"]
    # A sample is of the time since the one before it.
    rows = [row for row, at in enumerate(times) if at > begin and (not row or times[row - 1] < end)]
    if not rows:
        return {}
    lengths = {row: times[row] - (times[row - 1] if row else begin) for row in rows}

    def total(kind: str, name: str) -> float:
        return math.fsum((samples[kind][name][row] or 0.0) * lengths[row] for row in rows)

    def known(kind: str, name: str) -> list[float]:
        return [value for row in rows if (value := samples[kind][name][row]) is not None]

    return {
        "cpuSeconds": {name: round(total("cpu", name), 2) for name in samples.get("cpu", ())},
        "memory": {
            name: {"first": found[0], "last": found[-1], "peak": max(found)}
            for name in samples.get("memory", ())
            if (found := known("memory", name))
        },
        "deepest": {name: max(found) for name in samples.get("depths", ()) if (found := known("depths", name))},
        "functions": {
            name: {
                "invocations": round(total("invocations", name)),
                "mean": round(total("busy", name) / count, 5),
                "longest": max(known("longest", name)),
            }
            for name in samples.get("invocations", ())
            if (count := total("invocations", name))
        },
        "counts": {name: round(total("counts", name)) for name in samples.get("counts", ())},
        "units": {name: round(total("units", name), 1) for name in samples.get("units", ())},
    }
