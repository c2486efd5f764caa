"""declare_topology returns, measures and logs its result, and answers CloudFormation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.core.errors import BrokerUnavailable, ConfigurationError
from headrace.queues.rabbitmq import topology_resource
from headrace.queues.rabbitmq.topology import Report
from headrace.queues.rabbitmq.topology_resource import STARTING_SECONDS, declare_all, declare_each, declare_for

CREATE = {"RequestType": "Create", "ResponseURL": "https://bucket/answer"}


def test_a_scheduled_run_does_not_wait_and_returns_what_was_declared(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    waited: list[float] = []
    report = Report(
        ["queue a", "queue b"], ["queue b has another form"], [], 7, ["persist.chat.0", "live.1"], ["user u is made"]
    )

    found = declare_for({"time": "2025-11-21T10:00:00Z"}, lambda seconds: waited.append(seconds) or report)

    assert found == {
        "declared": "queue a, queue b",
        "differs": "queue b has another form",
        "users": "user u is made",
    }
    assert waited == [0.0]
    assert caplog.messages == ["queue b has another form", "user u is made", "queues without a consumer"]
    metrics = json.loads(capsys.readouterr().out)
    assert (metrics["ParkedMessages"], metrics["UnreadQueues"]) == ([7.0], [2.0])


def test_a_deployment_reports_no_queue_that_its_mappings_do_not_read_yet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(topology_resource, "_put", lambda _url, _body: None)

    declare_for(CREATE, lambda _: Report(["queue persist.chat.0"], parked=0, unread=["persist.chat.0"]))

    assert caplog.messages == []
    assert "UnreadQueues" not in json.loads(capsys.readouterr().out)


def test_messages_that_were_moved_out_of_a_former_queue_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    declare_for({}, lambda _: Report(["queue a"], moved={"persist.0": 7}))

    (line,) = caplog.records
    assert line.message == "messages of a queue that no stream has any more are moved"
    assert (line.__dict__["queue"], line.__dict__["count"]) == ("persist.0", 7)


def test_former_queues_that_cannot_be_emptied_now_fail_no_run(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> dict[str, int]:
        raise BrokerUnavailable("the broker is unavailable")

    report = declare_all(lambda _: Report(["queue a"]), lambda _: [], fail, 0.0)

    assert (report.missing, report.moved) == ([], {})
    assert caplog.messages == ["queues that no stream has any more are not emptied"]


def test_only_a_repaired_user_is_a_warning(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(topology_resource, "_put", lambda _url, _body: None)
    report = Report(["queue a"], users=["user u is made"])

    for event in (CREATE, {}):
        declare_for(event, lambda _: report)

    assert [each.levelname for each in caplog.records] == ["INFO", "WARNING"]


def test_a_queue_that_is_missing_is_an_error() -> None:
    report = Report(missing=["queue persist.chat.0 is missing: refused"])

    with pytest.raises(ConfigurationError, match=r"persist\.chat\.0 is missing"):
        declare_for({}, lambda _: report)


def test_a_deployment_waits_for_the_broker_and_gets_every_error_as_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[dict[str, Any]] = []
    monkeypatch.setattr(topology_resource, "_put", lambda _url, body: put.append(json.loads(body)))
    waited: list[float] = []

    def declare(seconds: float) -> Report:
        waited.append(seconds)
        raise ConfigurationError("the variable BROKER_ENDPOINTS is missing")

    declare_for(CREATE, declare)
    declare_for(CREATE, lambda _: Report(["queue a"]))

    assert waited == [STARTING_SECONDS]
    assert [(each["Status"], each["PhysicalResourceId"]) for each in put] == [
        ("FAILED", "headrace-topology"),
        ("SUCCESS", "headrace-topology"),
    ]
    assert "BROKER_ENDPOINTS is missing" in put[0]["Reason"]
    assert put[1]["Data"] == {"declared": "queue a", "differs": "", "users": ""}


def test_the_report_of_two_brokers_names_them_and_adds_up_what_is_parked() -> None:
    one, other = (Report(["queue a"], [], [], 3, ["live.0"], [], {"persist.0": 2}) for _ in range(2))

    whole = declare_each([lambda _: one, lambda _: other], 0.0)

    assert whole.declared == ["broker 1: queue a", "broker 2: queue a"]
    assert (whole.parked, whole.unread) == (6, ["broker 1: live.0", "broker 2: live.0"])
    assert whole.moved == {"broker 1: persist.0": 2, "broker 2: persist.0": 2}


def test_a_lost_broker_is_missing_and_the_other_one_is_still_declared() -> None:
    def fail(_seconds: float) -> Report:
        raise BrokerUnavailable("the broker is unavailable")

    whole = declare_each([fail, lambda _: Report(["queue a"], parked=0)], 0.0)

    assert (whole.missing, whole.declared) == (["broker 1: the broker is unavailable"], ["broker 2: queue a"])
    assert whole.parked is None
    assert declare_each([fail, lambda _: Report(parked=1)], 0.0).parked == 1
    with pytest.raises(BrokerUnavailable):
        declare_each([fail], 0.0)


def test_one_broker_is_not_named() -> None:
    assert declare_each([lambda _: Report(["queue a"], parked=0)], 0.0) == Report(["queue a"], parked=0)
