"""The parts of `make rehearse` that need no emulator: expected answers, gaps, and the statement that it breaks."""

from __future__ import annotations

import json
import time
from itertools import groupby
from pathlib import Path

import pytest

from rehearsal.events import EVENTS, Case, cases, readable
from rehearsal.gaps import GAPS
from rehearsal.report import _NO_EVENT, checked, reasons, unproven
from rehearsal.steps import ENDPOINT_RIGHT, ENDPOINT_WRONG, RIGHT, WRONG
from tests.unit.template_stack import ROOT, TemplateStack


def case(folder: Path, expected: object) -> Case:
    path = folder / "expected.json"
    path.write_text(json.dumps(expected))
    return Case("read_chat.room", "ReadChat", b"{}", path)


def test_every_event_has_an_expected_answer() -> None:
    assert {path.name for path in (EVENTS / "expected").glob("*.json")} == {path.name for path in EVENTS.glob("*.json")}


def test_every_event_is_for_a_function_of_the_template(template_stack: TemplateStack) -> None:
    assert {one.function for one in cases()} == set(template_stack.folders)


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


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({"body": {"items": [r"~\d+"]}}, {"body": '{"items": [17]}'}),
        ({"headers": "~.*"}, {"headers": {"x": "1"}}),
        ({"errorType": "E", "errorMessage": "m"}, {"errorType": "E", "errorMessage": "m", "stackTrace": []}),
        (None, None),
    ],
)
def test_the_expected_answer_has_no_difference(tmp_path: Path, expected: object, answer: object) -> None:
    assert case(tmp_path, expected).differences(answer) == []


def test_recording_an_answer_keeps_the_patterns_that_fit(tmp_path: Path) -> None:
    known = case(tmp_path, {"body": {"id": "~[a-z]+", "time": r"~\d+"}})

    known.record({"body": '{"id": "abc", "time": "later"}'})

    assert json.loads(known.expected.read_text()) == {"body": {"id": "~[a-z]+", "time": "later"}}


def test_a_body_that_is_no_json_stays_as_it_is() -> None:
    assert readable({"body": "plain"}) == {"body": "plain"}


@pytest.mark.parametrize("type_", GAPS)
def test_a_gap_takes_only_properties_that_it_knows(type_: str) -> None:
    gap = GAPS[type_]
    fitting = dict.fromkeys(gap.required | gap.optional, "")

    assert gap.refusal(fitting) == ""
    assert "Engin" in gap.refusal({**fitting, "Engin": ""})
    assert "missing" in gap.refusal(dict.fromkeys(sorted(gap.required)[1:], ""))


def test_the_gaps_know_the_properties_that_the_template_uses(template_stack: TemplateStack) -> None:
    for type_, gap in GAPS.items():
        for name, properties in template_stack.of_type(type_).items():
            assert (name, gap.refusal(properties)) == (name, "")


def test_the_report_tells_accepted_resources_from_used_ones() -> None:
    assert "accepted" in checked("AWS::EC2::SecurityGroupEgress")
    assert "used" in checked("AWS::DynamoDB::Table")
    assert "not used" in checked("AWS::EC2::Subnet")


def test_a_right_that_no_event_uses_needs_a_reason() -> None:
    lambdas, unknown = "PushLiveRole: mq:DescribeBroker on arn", "ReadSkiRole: dynamodb:Scan on arn"

    assert unproven([lambdas, unknown]) == [unknown]
    assert reasons([lambdas]) == f"  {lambdas} (Lambda's mapping finds the broker)"


def test_only_rights_of_lambda_itself_need_no_event() -> None:
    """Whatever the code of a function needs, an event uses."""
    assert [reason for reason in _NO_EVENT.values() if not reason.startswith("Lambda")] == []


def test_the_broker_and_the_cache_are_stopped_once_for_the_events_that_need_it() -> None:
    assert [away for away, _ in groupby(case.away for case in cases())] == ["", "broker", "cache"]


def test_an_event_gets_a_token_of_the_issuer_and_an_expiry_that_is_near() -> None:
    (renewal,), (expiring,) = cases("renew_connection.trusted"), cases("read_frame.expiring")

    frame = json.loads(json.loads(renewal.sent(token="a.b.c"))["body"])
    expires_at = json.loads(expiring.sent())["requestContext"]["authorizer"]["exp"]
    assert frame["token"] == "a.b.c"
    assert 0 < int(expires_at) - time.time() < 300


def test_the_template_has_the_statements_that_the_rehearsal_breaks() -> None:
    text = (ROOT / "template.yaml").read_text()

    for right, wrong in ((RIGHT, WRONG), (ENDPOINT_RIGHT, ENDPOINT_WRONG)):
        assert text.count(right) == 1
        assert wrong not in text
