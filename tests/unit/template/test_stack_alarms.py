"""Alarms: that they fire, and that operators find them explained."""

from tests.unit.template_stack import ROOT, TemplateStack


def test_a_stage_that_does_not_probe_is_an_alarm_too(template_stack: TemplateStack) -> None:
    """P4: a running stage sends one probe per persist queue and minute, and alarms if it is not readable in time."""
    alarm = template_stack.resources["ProbesAlarm"]["Properties"]
    (rule,) = [
        one for one in template_stack.of_type("AWS::Events::Rule").values() if "SendProbes" in str(one["Targets"])
    ]

    assert rule["ScheduleExpression"] == "cron(* * * * ? *)"
    assert (alarm["MetricName"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("ProbeMissing", 0, 2)
    assert (alarm["Period"], alarm["TreatMissingData"]) == (60, "breaching")


def test_what_the_broker_parks_is_counted_and_an_alarm(template_stack: TemplateStack) -> None:
    alarm = template_stack.resources["ParkedAlarm"]["Properties"]
    (rule,) = [
        one for one in template_stack.of_type("AWS::Events::Rule").values() if "DeclareTopology" in str(one["Targets"])
    ]

    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert (alarm["MetricName"], alarm["Threshold"], alarm["Period"]) == ("ParkedMessages", 0, 300)


def test_no_alarm_has_more_metrics_than_cloudwatch_takes(template_stack: TemplateStack) -> None:
    for alarm in template_stack.of_type("AWS::CloudWatch::Alarm").values():
        assert sum("MetricStat" in one for one in alarm.get("Metrics", [])) <= 10


def test_the_page_about_operations_explains_every_alarm(template_stack: TemplateStack) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()

    assert [name for name in template_stack.of_type("AWS::CloudWatch::Alarm") if f"`{name}`" not in page] == []
