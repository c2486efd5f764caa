"""The page of alarms, from templates/monitoring.yaml and templates/broker-alarms.yaml."""

from __future__ import annotations

import re
from typing import Any

from tools.stack_reference.markdown import code, rendered, sentence, template

OWNERS = ("FunctionName", "TableName", "GlobalSecondaryIndexName")
COMPARISONS = {"GreaterThanThreshold": "above", "LessThanThreshold": "below"}


def _metrics(alarm: dict[str, Any]) -> str:
    if "MetricName" in alarm:
        statistic = alarm.get("Statistic") or alarm["ExtendedStatistic"]
        return " of ".join(filter(None, (_metric(alarm, statistic), _owner(alarm))))
    names: dict[str, list[str]] = {}
    for part in _stats(alarm):
        names.setdefault(_metric(part["Metric"], part["Stat"]), []).append(_owner(part["Metric"]))
    listed = " and ".join(name + (f" of {', '.join(of)}" if any(of) else "") for name, of in names.items())
    expression = next((one["Expression"] for one in alarm["Metrics"] if one.get("ReturnData")), None)
    expression = expression["Fn::Sub"] if isinstance(expression, dict) else expression
    return f"`{expression}` of {listed}" if expression else listed


def _stats(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics of an alarm, with all features. Of a single broker node: a cluster is asked for its worst one."""
    chosen = (one.get("Fn::If", ["", one, one]) for one in alarm["Metrics"])
    found = (then if condition.startswith("Has") else otherwise for condition, then, otherwise in chosen)
    return [one["MetricStat"] for one in found if "MetricStat" in one]


def _owner(metric: dict[str, Any]) -> str:
    """The function, or the table and its index, whose metric this is."""
    values = [each["Value"] for each in metric["Dimensions"] if each["Name"] in OWNERS]
    return " ".join(code(value["Ref"] if isinstance(value, dict) else value) for value in values)


def _metric(metric: dict[str, Any], statistic: str) -> str:
    name = f"`{metric['Namespace']}` `{metric['MetricName']}`"
    if metric["Namespace"] == "Headrace":
        name = f"[{name}](metrics.md#{metric['MetricName'].lower()})"
    return f"{name} ({statistic.lower()})"


def _condition(alarm: dict[str, Any]) -> str:
    period = alarm.get("Period") or max(one["Period"] for one in _stats(alarm))
    times = alarm["EvaluationPeriods"]
    threshold = code(alarm["Threshold"]["Ref"]) if isinstance(alarm["Threshold"], dict) else alarm["Threshold"]
    comparison = f"{COMPARISONS[alarm['ComparisonOperator']]} {threshold}"
    return f"{comparison}, {'in' if times == 1 else f'{times} times in a row, each in'} {period} s"


def _facts(alarm: dict[str, Any]) -> str:
    if rule := alarm.get("AlarmRule"):
        children = ", ".join(map(code, re.findall(r"\$\{(\w+)\}", str(rule))))
        suppressor = code(alarm["ActionsSuppressor"]["Ref"])
        silent = f"for {alarm['ActionsSuppressorWaitPeriod']} s, and while {suppressor} is on"
        return f"On when one of {children} is on. Sends no notification {silent}."
    missing = " Missing data also sets the alarm." if alarm["TreatMissingData"] == "breaching" else ""
    return f"On when {_metrics(alarm)} is {_condition(alarm)}.{missing}"


def render() -> str:
    """The page."""
    nested = (template(f"templates/{name}.yaml")["Resources"] for name in ("monitoring", "broker-alarms"))
    resources = {**next(nested), **next(nested), **template()["Resources"]}
    alarms = {name: one["Properties"] for name, one in resources.items() if "Alarm" in one["Type"]}
    said = {name: f"{sentence(alarm['AlarmDescription'])} {_facts(alarm)}" for name, alarm in alarms.items()}
    return rendered("alarms", blocks=[f"## {code(name)}\n\n{text}" for name, text in said.items()])
