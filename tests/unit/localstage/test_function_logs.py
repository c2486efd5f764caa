"""Those who follow the logs of functions see each line once."""

import json
from pathlib import Path

from localstage.client.function_logs import NewLines, audited


def test_lines_are_read_once_also_after_a_rotation_and_only_when_complete(tmp_path: Path) -> None:
    log = tmp_path / "PushLive.log"
    log.write_text("before\n")
    new = NewLines(tmp_path)
    seen = []
    for text in ("before\none\ntw", "before\none\ntwo\n", "three\n"):
        log.write_text(text)
        seen.append([line for _, line in new.lines()])

    assert seen == [["one"], ["two"], ["three"]]


def audit_line(at: str, message: str, **fields: object) -> str:
    """A line as the functions' logger writes it."""
    line = {
        "level": "WARNING",
        "location": "audit:230",
        "message": message,
        "timestamp": at,
        "service": "headrace-local",
        "correlation_id": "pfKFnR2EfiLw5eo=",
        "kind": "audit",
        "operator": "olga",
        **fields,
    }
    return json.dumps(line, separators=(",", ":")) + "\n"


def test_audit_lines_of_all_logs_are_listed_newest_first(tmp_path: Path) -> None:
    first = audit_line("2026-11-26 22:42:11,857+0000", "dead letters were redriven", moved=1, filter={"id": None})
    second = audit_line("2026-11-26 22:43:00,001+0000", "parked messages were returned", returned=3)
    third = audit_line("2026-11-26 22:44:00,000+0000", "dead letters were discarded", discarded=2)
    (tmp_path / "ManageDeadLetters.log.1").write_text(first)
    (tmp_path / "ManageDeadLetters.log").write_text(f'START RequestId: 1\n{third}{third[:60]}\n{{"kind":"audit"}}\n')
    (tmp_path / "ReturnParked.log").write_text(second)

    found = audited(tmp_path, 10)

    assert [(each["message"], each["operator"]) for each in found] == [
        ("dead letters were discarded", "olga"),
        ("parked messages were returned", "olga"),
        ("dead letters were redriven", "olga"),
    ]
    assert found[2] == {
        "time": "2026-11-26T22:42:11.857000+00:00",
        "message": "dead letters were redriven",
        "operator": "olga",
        "moved": 1,
        "filter": {"id": None},
    }
    assert audited(tmp_path, 1) == found[:1]
