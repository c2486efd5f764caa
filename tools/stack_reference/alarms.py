"""The page of alarms, from templates/monitoring.yaml."""

from __future__ import annotations

from typing import Any

from tools.stack_reference.markdown import bullets, code, page, paragraph, sentence, template

INTRO = """
`templates/monitoring.yaml` defines the CloudWatch alarms of a stage. For example, `DeadLettersAlarm` is on while the
dead lane holds a record. With the parameter [`AlarmTopicArn`](parameters.md#alarmtopicarn) they notify an SNS topic.
[How to operate a stage](../how-to/operate.md) says what to do about each.
"""
COMPARISONS = {"GreaterThanThreshold": "above", "LessThanThreshold": "below"}


def _metrics(alarm: dict[str, Any]) -> str:
    if "MetricName" in alarm:
        return " of ".join(filter(None, (_metric(alarm, alarm["Statistic"]), _function(alarm))))
    parts = [one["MetricStat"] for one in alarm["Metrics"] if "MetricStat" in one]
    names: dict[str, list[str]] = {}
    for part in parts:
        names.setdefault(_metric(part["Metric"], part["Stat"]), []).append(_function(part["Metric"]))
    expression = next(one["Expression"] for one in alarm["Metrics"] if "Expression" in one)
    expression = expression["Fn::Sub"] if isinstance(expression, dict) else expression
    listed = (name + (f" of {', '.join(of)}" if any(of) else "") for name, of in names.items())
    return f"`{expression}` of " + " and ".join(listed)


def _function(metric: dict[str, Any]) -> str:
    """The function whose Lambda metric this is."""
    return next((code(each["Value"]["Ref"]) for each in metric["Dimensions"] if each["Name"] == "FunctionName"), "")


def _metric(metric: dict[str, Any], statistic: str) -> str:
    name = f"`{metric['Namespace']}` `{metric['MetricName']}`"
    if metric["Namespace"] == "Headrace":
        name = f"[{name}](metrics.md#{metric['MetricName'].lower()})"
    return f"{name} ({statistic.lower()})"


def _condition(alarm: dict[str, Any]) -> str:
    period = alarm.get("Period") or max(one["MetricStat"]["Period"] for one in alarm["Metrics"] if "MetricStat" in one)
    times = alarm["EvaluationPeriods"]
    comparison = f"{COMPARISONS[alarm['ComparisonOperator']]} {alarm['Threshold']}"
    return f"{comparison}, {'in' if times == 1 else f'{times} times in a row, each in'} {period} s"


def render() -> str:
    """The page."""
    blocks = [paragraph(INTRO)]
    for name, resource in template("templates/monitoring.yaml")["Resources"].items():
        alarm = resource["Properties"]
        facts = [
            ("Metric", _metrics(alarm)),
            ("On when", _condition(alarm)),
            ("Missing data", "also sets the alarm" if alarm["TreatMissingData"] == "breaching" else ""),
        ]
        blocks.append(f"## {code(name)}\n\n{paragraph(sentence(alarm['AlarmDescription']))}\n\n{bullets(facts)}")
    return page("Alarms", "templates/monitoring.yaml", *blocks)
