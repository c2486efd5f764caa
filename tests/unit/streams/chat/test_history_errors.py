"""How a page is answered when something is in its way; the pages themselves are in test_history.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace import reading
from headrace.core.errors import ConfigurationError, StoreUnavailable
from headrace.runtime.observability import LogThrottle
from tests.unit.template_stack import TemplateStack
from tests.worlds.write_path import http_event


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "scope_prefix", lambda: "")
    monkeypatch.setattr("headrace.runtime.observability._quiet", LogThrottle())


def answer(error: Exception) -> tuple[int, dict[str, Any]]:
    def page(*_: object) -> dict[str, Any]:
        raise error

    answered = reading.answer_page(http_event(""), page)
    return answered["statusCode"], json.loads(answered["body"])["error"]


def test_a_table_that_is_away_is_a_503_with_its_reason() -> None:
    status, error = answer(StoreUnavailable("the history cannot be read right now"))

    assert (status, error["code"]) == (503, "unavailable")
    assert error["retryAfter"] > 0


def test_a_missing_setting_is_named_in_the_log_and_not_in_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    status, error = answer(ConfigurationError("the variable CURSOR_SECRET_ARN is missing"))

    assert (status, error["code"]) == (500, "internal")
    assert "CURSOR_SECRET_ARN" not in error["message"]
    assert "CURSOR_SECRET_ARN" in caplog.text


def test_what_nobody_expected_is_answered_and_counted_but_its_text_is_told_to_nobody(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    status, error = answer(KeyError("a private text"))

    logged = "".join(str(vars(record)) for record in caplog.records)
    assert (status, error["code"]) == (500, "internal")
    assert "private" not in error["message"] + logged
    assert "test_history_errors.py" in logged
    assert '"Unexpected":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_what_nobody_expected_raises_the_alarm_of_the_apis(template_stack: TemplateStack) -> None:
    shared = template_stack.resources["ReadRoom"]["Properties"]["Environment"]["Variables"]
    metrics = [each.get("MetricStat", {}) for each in template_stack.alarms["ApiErrorsAlarm"]["Metrics"]]

    assert {
        "Namespace": shared["POWERTOOLS_METRICS_NAMESPACE"],
        "MetricName": "Unexpected",
        "Dimensions": [{"Name": "service", "Value": shared["POWERTOOLS_SERVICE_NAME"]}],
    } in [each.get("Metric") for each in metrics]
