"""The dashboard shows metrics that exist."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from localstage.template.document import parse
from tests.unit.docs.test_metrics import ON_PAGE
from tests.unit.template_stack import ROOT, TemplateStack

PATH = ROOT / "templates" / "dashboard.yaml"
TEMPLATE = parse(PATH.read_text(), PATH)
TEXT: str = TEMPLATE["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
WIDGETS: list[dict[str, Any]] = json.loads(re.sub(r": \$\{\w+\}", ": 0", TEXT))["widgets"]
OUR_SEARCH = re.compile(r"\{Headrace,([\w,]+)\} MetricName=\"(\w+)\"")


@pytest.mark.parametrize("widget", WIDGETS, ids=[each["properties"]["title"] for each in WIDGETS])
def test_a_widget_shows_metrics_that_the_code_writes(widget: dict[str, Any]) -> None:
    """With all dimensions of the metric: CloudWatch finds it by no others."""
    written = {name: {*dimensions, "service"} for name, dimensions in ON_PAGE.items()}

    for metric in widget["properties"]["metrics"]:
        if metric[0] == "Headrace":
            assert written[metric[1]] == {"service"}
        elif isinstance(metric[0], dict):
            for dimensions, name in OUR_SEARCH.findall(metric[0]["expression"]):
                assert written[name] == set(dimensions.split(","))


def test_the_dashboard_has_a_metric_of_every_alarm_on_lanes_and_broker(template_stack: TemplateStack) -> None:
    """PolledEventCount is known by the UUID of a mapping only, which no search finds by the name of the stack."""
    watched = {
        found for alarm in template_stack.alarms.values() for found in re.findall(r"'MetricName': '(\w+)'", str(alarm))
    }

    assert {name for name in watched if name not in TEXT} == {"PolledEventCount"}
