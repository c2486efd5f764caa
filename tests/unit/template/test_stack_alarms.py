"""Every failure that operators must see raises an alarm, which the docs explain."""

from tests.unit.template_stack import ROOT, TemplateStack


def test_a_stage_that_sends_no_probes_raises_an_alarm(template_stack: TemplateStack) -> None:
    """P4: a running stage sends one probe per persist queue and minute, and alarms if it is not readable in time."""
    alarm = template_stack.alarms["ProbesAlarm"]
    (rule,) = [
        one for one in template_stack.of_type("AWS::Events::Rule").values() if "SendProbes" in str(one["Targets"])
    ]

    assert rule["ScheduleExpression"] == "cron(* * * * ? *)"
    assert (alarm["MetricName"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("ProbeMissing", 0, 2)
    assert (alarm["Period"], alarm["TreatMissingData"]) == (60, "breaching")


def test_parked_messages_are_counted_and_raise_an_alarm(template_stack: TemplateStack) -> None:
    alarm = template_stack.alarms["ParkedAlarm"]
    (rule,) = [
        one for one in template_stack.of_type("AWS::Events::Rule").values() if "DeclareTopology" in str(one["Targets"])
    ]

    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert (alarm["MetricName"], alarm["Threshold"], alarm["Period"]) == ("ParkedMessages", 0, 300)


def test_a_refused_token_is_subtracted_from_the_errors_of_its_alarm(template_stack: TemplateStack) -> None:
    """The authorizer raises to refuse, so Lambda counts each refusal as an error."""
    (name,) = [name for name, alarm in template_stack.alarms.items() if "'AuthorizeConnection'" in str(alarm)]
    metrics = {one["Id"]: one for one in template_stack.alarms[name]["Metrics"]}

    assert metrics["refused"]["MetricStat"]["Metric"]["MetricName"] == "ConnectRefused"
    assert metrics["refusals"]["Expression"] == "-1 * refused"
    assert "refusals]" in metrics["errors"]["Expression"]


def test_refusals_that_are_counted_late_set_no_alarm(template_stack: TemplateStack) -> None:
    """A refusal's error may be in one period and its subtraction in the next, or not yet there."""
    alarm = template_stack.alarms["ConnectErrorsAlarm"]

    assert (alarm["EvaluationPeriods"], alarm.get("DatapointsToAlarm", 2)) == (2, 2)


def test_no_alarm_has_more_metrics_than_cloudwatch_takes(template_stack: TemplateStack) -> None:
    for alarm in template_stack.alarms.values():
        assert sum("MetricStat" in one for one in alarm.get("Metrics", [])) <= 10


def test_the_stack_passes_every_parameter_of_the_nested_template(template_stack: TemplateStack) -> None:
    passed = template_stack.resources["Monitoring"]["Properties"]["Parameters"]

    assert passed.keys() == template_stack.monitoring["Parameters"].keys()


def test_every_function_has_an_alarm_for_its_errors(template_stack: TemplateStack) -> None:
    """Except send_probes: its failures are missing probes, which have an alarm."""
    watched = {name for name in template_stack.folders if str({"Ref": name}) in str(template_stack.alarms)}

    assert watched == template_stack.folders.keys() - {"SendProbes"}


def test_every_alarm_notifies_the_topic_when_it_starts_and_ends(template_stack: TemplateStack) -> None:
    topic = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}

    assert all(one["AlarmActions"] == one["OKActions"] == topic for one in template_stack.alarms.values())


def test_the_page_about_operations_explains_every_alarm(template_stack: TemplateStack) -> None:
    page = (ROOT / "docs" / "how-to" / "operate.md").read_text()

    assert [name for name in template_stack.alarms if f"`{name}`" not in page] == []
