"""The parts of `make rehearse` that need no emulator: expected answers, and rights that no event uses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rehearsal.events import Case
from rehearsal.report import _NO_EVENT, reasons, unproven


def case(folder: Path, expected: object) -> Case:
    path = folder / "expected.json"
    path.write_text(json.dumps(expected))
    return Case("read_chat.room", "ReadChat", b"{}", path)


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({"statusCode": 200}, {"statusCode": 403}),
        ({"statusCode": 200}, {"statusCode": 200, "body": "no JSON"}),
        ({"statusCode": 200, "body": {"items": []}}, {"statusCode": 200}),
        ({"body": {"items": []}}, {"body": '{"items": [1]}'}),
        ({"body": {"time": r"~\d+"}}, {"body": '{"time": "now"}'}),
        ([1, 2], [1]),
        (1, True),
    ],
)
def test_another_answer_is_a_difference(tmp_path: Path, expected: object, answer: object) -> None:
    assert len(case(tmp_path, expected).differences(answer)) == 1


def test_a_right_that_no_event_uses_needs_a_reason() -> None:
    lambdas, unknown = "PushLiveRole: mq:DescribeBroker on arn", "ReadSkiRole: dynamodb:Scan on arn"

    assert unproven([lambdas, unknown]) == [unknown]
    assert reasons([lambdas]) == f"  {lambdas} (Lambda's mapping finds the broker)"


def test_only_rights_of_lambda_itself_and_of_signed_links_need_no_event() -> None:
    """Whatever the code of a function needs, an event uses. A signed link has the rights of who signed it."""
    assert {reason for reason in _NO_EVENT.values() if not reason.startswith("Lambda")} == {
        "who opens a link uses it",
        "who uploads to a signed address uses it",
    }
