"""The file with the requests of a run."""

from __future__ import annotations

from pathlib import Path

from loadtest.runs.place import Place
from loadtest.runs.request_log import RequestLog


def test_a_run_begins_an_empty_file_and_its_later_phases_continue_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "requests.csv"
    for run in ("one", "two"):
        for number in range(2):
            log = RequestLog(str(path), Place(run, number))
            log.add("POST", number, f"{run}-{number}")
            log.close()

    lines = path.read_text().splitlines()

    assert lines[0] == "start_time_ms,request_type,latency_ms,response_code"
    assert [line.split(",")[3] for line in lines[1:]] == ["two-0", "two-1"]
    assert [line.split(",")[0] for line in lines[1:]] == ["0", "1000"]


def test_each_worker_has_its_own_file(tmp_path: Path) -> None:
    for worker in range(2):
        RequestLog(str(tmp_path / "requests.csv"), Place("run", 0, worker=worker, workers=2)).close()

    assert {path.name for path in tmp_path.iterdir()} == {"requests.csv", "requests-1.csv"}
