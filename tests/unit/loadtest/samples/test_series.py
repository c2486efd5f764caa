"""Samples of any length of run fit into memory, and say what each phase used."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadtest.samples.functions import FunctionUsage
from loadtest.samples.recording import Sample, columns, since, usage
from loadtest.sending.queue_depths import depths_of


def test_a_phase_has_its_cpu_memory_depths_and_durations() -> None:
    samples: list[Sample] = []
    for second in range(1, 11):
        memory: dict[str, float | None] = {"Redis": 1e6 * second} if second > 2 else {}
        values: dict[str, dict[str, float | None]] = {
            "cpu": {"Redis": 0.5},
            "memory": memory,
            "depths": {"main": None if second == 4 else second},
            "invocations": {"f": 4.0},
            "busy": {"f": 0.2},
            "longest": {"f": 0.01 * second},
            "counts": {"n": 3.0},
            "units": {"RoomsTable read": 0.5},
        }
        samples.append((1_000.0 + second, values))

    found = usage(since(columns(samples), 1_000.0), 2.0, 5.0)

    assert found["cpuSeconds"] == {"Redis": 1.5}
    assert found["memory"] == {"Redis": {"first": 3e6, "last": 5e6, "peak": 5e6}}
    assert found["deepest"] == {"main": 5}
    assert found["functions"] == {"f": {"invocations": 12, "mean": 0.05, "longest": 0.05}}
    assert found["counts"] == {"n": 9}
    assert found["units"] == {"RoomsTable read": 1.5}


def test_new_lines_of_functions_become_rates_and_durations(tmp_path: Path) -> None:
    log = tmp_path / "PersistEvents.log"
    log.write_text("REPORT RequestId: 0\tDuration: 9000.00 ms\n")
    functions = FunctionUsage(tmp_path)
    with log.open("a") as file:
        file.write(
            "START RequestId: 1\nREPORT RequestId: 1\tDuration: 30.00 ms\nREPORT RequestId: 2\tDuration: 10.00 ms\n"
            '{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"Headrace","Dimensions":[["lane","stream"]],'
            '"Metrics":[{"Name":"Stored","Unit":"Count"}]}]},"lane":"main","stream":"chat","Stored":[50.0,10.0]}\n'
            '{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"Headrace","Dimensions":[["queue"]],'
            '"Metrics":[{"Name":"ProbeSeconds","Unit":"Seconds"}]}]},"queue":"q","ProbeSeconds":[0.25]}\n{"cut\n'
        )

    found = functions.take(2.0)

    assert found["counts"] == {"Stored main": 30.0}
    assert found["invocations"] == {"PersistEvents": 1.0, "ProbeSeconds": 0.5}
    assert found["busy"] == {"PersistEvents": pytest.approx(0.02), "ProbeSeconds": 0.125}
    assert found["longest"] == {"PersistEvents": 0.03, "ProbeSeconds": 0.25}
    assert functions.take(1.0) == {"counts": {}, "invocations": {}, "busy": {}, "longest": {}}


def test_depths_are_those_of_the_status_and_unknown_where_it_could_not_read() -> None:
    lanes = {
        "main": {"state": "ok", "queues": {"persist.chat.0": {"ready": 4}, "persist.chat.1": {"ready": 3}}},
        "parked": {"state": "holding", "ready": 2},
        "retry": {"state": "holding", "waiting": 6, "inFlight": 1, "delayed": 1},
        "dead": {"state": "unknown", "reason": "no answer within 1.5 s"},
    }

    assert depths_of({"lanes": lanes}) == {"main": 7, "retry": 8, "dead": None, "parking": 2}
