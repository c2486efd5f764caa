"""Every failure that operators must see raises an alarm, which the docs explain."""

import json
import re
from typing import Any

import pytest

from headrace.runtime.observability import report_refusal
from tests.unit.docs.test_metrics import in_code
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


def branches(metrics: list[dict[str, Any]], chosen: int) -> list[dict[str, Any]]:
    """The metrics of an alarm for a cluster (1) or for a single node (2)."""
    return [one["Fn::If"][chosen] if "Fn::If" in one else one for one in metrics]


def test_an_alarm_has_at_most_one_metrics_insights_query(template_stack: TemplateStack) -> None:
    """CloudWatch takes one, in one period with the other metrics."""
    for alarm in template_stack.alarms.values():
        found = branches(alarm.get("Metrics", []), 1)
        queries = [one for one in found if str(one.get("Expression", "")).startswith("{'Fn::Sub': 'SELECT")]
        periods = {one.get("Period") or one["MetricStat"]["Period"] for one in found if one["Id"] in ("node", "limit")}
        assert len(queries) <= 1
        assert not queries or periods == {60}


def test_throttling_that_lasts_sets_an_alarm_although_no_record_grows_old(template_stack: TemplateStack) -> None:
    """A throttled record is sent again as a new one."""
    alarm = template_stack.alarms["ThrottledRecordsAlarm"]
    aged = template_stack.alarms["RetryAgeAlarm"]

    assert (alarm["Namespace"], alarm["MetricName"], alarm["Threshold"]) == ("Headrace", "Throttled", 0)
    assert [each["Name"] for each in alarm["Dimensions"]] == ["service"], "it is written without other dimensions"
    assert alarm["Period"] * alarm["EvaluationPeriods"] == aged["Threshold"]


@pytest.mark.parametrize(
    ("name", "function", "mapping"),
    [
        ("ErasureFailingAlarm", "EraseUsers", "EraseUsersTasks"),
        ("ExportFailingAlarm", "WriteExports", "WriteExportsTasks"),
    ],
)
def test_a_slice_that_fails_again_and_again_sets_an_alarm(
    template_stack: TemplateStack, name: str, function: str, mapping: str
) -> None:
    """SQS leaves it out of ApproximateAgeOfOldestMessage after three tries, so its age never reaches an hour."""
    alarm = template_stack.alarms[name]
    queue, _ = template_stack.resources[mapping]["Properties"]["EventSourceArn"]["Fn::GetAtt"]
    tries = alarm["Period"] // template_stack.resources[queue]["Properties"]["VisibilityTimeout"]

    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/Lambda", "Errors", "Sum")
    assert [each["Value"] for each in alarm["Dimensions"]] == [{"Ref": function}]
    assert 0 < alarm["Threshold"] < tries


def test_a_tidying_that_does_not_end_sets_an_alarm_within_an_hour(template_stack: TemplateStack) -> None:
    """Lambda tries an asynchronous invocation three times: after one and two minutes again."""
    alarm = template_stack.alarms["ArchiveFailingAlarm"]
    function = template_stack.resources["ArchiveEvents"]["Properties"]

    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/Lambda", "Errors", "Sum")
    assert [each["Value"] for each in alarm["Dimensions"]] == [{"Ref": "ArchiveEvents"}]
    assert "EventInvokeConfig" not in function, "it has the usual two more tries"
    assert (1 + alarm["Threshold"]) * function["Timeout"] < alarm["Period"]


def test_the_first_call_that_aws_refuses_sets_an_alarm(
    template_stack: TemplateStack, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its caller gets what an outage gives, and the other alarms begin at several errors."""
    report_refusal("get_item", "AccessDeniedException")

    line = json.loads(capsys.readouterr().out)
    (written,) = line["_aws"]["CloudWatchMetrics"]
    (metric,) = written["Metrics"]
    of_it = {
        name: (alarm["Statistic"], sum(line[metric["Name"]]) > alarm["Threshold"], alarm["EvaluationPeriods"])
        for name, alarm in template_stack.alarms.items()
        if (alarm.get("Namespace"), alarm.get("MetricName")) == (written["Namespace"], metric["Name"])
        and [[each["Name"] for each in alarm["Dimensions"]]] == written["Dimensions"]
    }
    assert of_it == {"UnexpectedAlarm": ("Sum", True, 1)}


def test_a_slow_stage_sets_an_alarm_at_the_threshold_that_the_page_of_promises_says(
    template_stack: TemplateStack,
) -> None:
    """A parameter has it. Of fewer than 1,000 values, CloudWatch judges no p99."""
    page = (ROOT / "docs" / "explanation" / "promises.md").read_text().partition("## How fast\n")[2]
    slow = {name: one for name, one in template_stack.alarms.items() if "ExtendedStatistic" in one}

    assert len(slow) == 4
    for name, one in slow.items():
        default = template_stack.parameters[one["Threshold"]["Ref"]]["Default"]
        (row,) = [line for line in page.splitlines() if f"`{name}`" in line]
        assert (one["ExtendedStatistic"], one["EvaluateLowSampleCountPercentile"]) == ("p99", "ignore")
        assert (f"| {default:,} " in row, f"`{one['Threshold']['Ref']}`" in row) == (True, True)


# Metrics of AWS with the dimensions that each service gives them.
OF_AWS = {
    ("AWS/AmazonMQ", "ConnectionCount"): {"Broker"},
    ("AWS/AmazonMQ", "RabbitMQDiskFree"): {"Broker"},
    ("AWS/AmazonMQ", "RabbitMQDiskFreeLimit"): {"Broker"},
    ("AWS/AmazonMQ", "RabbitMQMemLimit"): {"Broker"},
    ("AWS/AmazonMQ", "RabbitMQMemUsed"): {"Broker"},
    ("AWS/ApiGateway", "5xx"): {"ApiId"},
    ("AWS/ApiGateway", "Count"): {"ApiId"},
    ("AWS/ApiGateway", "ExecutionError"): {"ApiId", "Stage"},
    ("AWS/ApiGateway", "IntegrationError"): {"ApiId", "Stage"},
    ("AWS/Lambda", "Duration"): {"FunctionName"},
    ("AWS/Lambda", "Errors"): {"FunctionName"},
    ("AWS/Lambda", "Invocations"): {"FunctionName"},
    ("AWS/Lambda", "IteratorAge"): {"FunctionName"},
    ("AWS/Lambda", "PolledEventCount"): {"EventSourceMappingUUID"},
    ("AWS/Lambda", "RecursiveInvocationsDropped"): {"FunctionName"},
    ("AWS/Lambda", "Throttles"): {"FunctionName"},
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): {"QueueName"},
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): {"QueueName"},
}


@pytest.mark.parametrize("branch", [1, 2], ids=["cluster", "single node"])
def test_something_writes_every_metric_of_an_alarm_with_these_dimensions(
    template_stack: TemplateStack, branch: int
) -> None:
    """An alarm on a metric that nothing writes is accepted, and never on."""
    written = OF_AWS | {("Headrace", name): {"service", *dimensions} for name, dimensions in in_code().items()}
    for name, alarm in template_stack.alarms.items():
        metrics = branches(alarm.get("Metrics", []), branch)
        for one in [one["MetricStat"]["Metric"] for one in metrics if "MetricStat" in one] or [alarm]:
            if "MetricName" in one:
                given = {each["Name"] for each in one["Dimensions"]}
                assert (name, written.get((one["Namespace"], one["MetricName"]))) == (name, given)


def of_rule(pipeline: dict[str, Any]) -> set[str]:
    """The alarms for which PipelineAlarm notifies."""
    return set(re.findall(r'ALARM\("\$\{(\w+)\}"\)', str(pipeline["AlarmRule"])))


def test_every_alarm_notifies_the_topic_when_it_starts_and_ends_or_another_one_does_for_it(
    template_stack: TemplateStack,
) -> None:
    topic = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
    silent = {name for name, one in template_stack.alarms.items() if "AlarmActions" not in one}
    pipeline = template_stack.alarms["PipelineAlarm"]
    others = [one for name, one in template_stack.alarms.items() if name not in silent]

    assert all(one["AlarmActions"] == one["OKActions"] == topic for one in others)
    assert silent == of_rule(pipeline) | {pipeline["ActionsSuppressor"]["Ref"]}


def test_what_has_no_metric_yet_sends_no_notification_during_a_first_deployment(template_stack: TemplateStack) -> None:
    """Such an alarm is on as soon as it is made. It is made when probes are stored, and has five minutes to end."""
    pipeline, monitoring = template_stack.alarms["PipelineAlarm"], template_stack.resources["Monitoring"]
    missing = {name for name, one in template_stack.alarms.items() if one.get("TreatMissingData") == "breaching"}

    assert missing <= of_rule(pipeline)
    assert monitoring["DependsOn"] == "BrokerMappings"
    assert pipeline["ActionsSuppressorWaitPeriod"] >= 2 * template_stack.alarms["ProbesAlarm"]["Period"]


@pytest.mark.parametrize("brokers", ["1", "2"])
def test_the_maintenance_of_a_broker_sends_no_notification(template_stack: TemplateStack, brokers: str) -> None:
    """A window lasts two hours."""
    windows = [one["MaintenanceWindowStartTime"] for one in template_stack.of_type("AWS::AmazonMQ::Broker").values()]
    starts = [int(one["TimeOfDay"].removesuffix(":00")) for one in windows[: int(brokers)]]
    window = template_stack.alarms["MaintenanceAlarm"]["Metrics"][0]["Expression"]["Fn::Sub"]
    ends = template_stack.resources["Monitoring"]["Properties"]["Parameters"]["MaintenanceEnds"]

    assert {(one["DayOfWeek"], one["TimeZone"]) for one in windows} == {("SUNDAY", "UTC")}
    hours = f"HOUR(runs) >= {min(starts)} && HOUR(runs) < ${{MaintenanceEnds}} && HOUR(runs) != 5"
    assert window == f"IF(DAY(runs) == 7 && {hours}, 1, 0)"
    two, one = {"Fn::Select": [0, ["8", {"Ref": "SecondMappings"}]]}, "5"
    assert ends == {"Fn::If": ["HasSecondBroker", two, one]}, "the alarms wait for all mappings"
    assert max(starts) + 2 == (8 if brokers == "2" else 5)


def test_mappings_of_streams_count_what_they_read_and_leave_out_one_bad_record_at_most(
    template_stack: TemplateStack,
) -> None:
    mappings = {
        name: one
        for name, one in template_stack.of_type("AWS::Lambda::EventSourceMapping").items()
        if "StreamArn" in str(one["EventSourceArn"])
    }
    written = {"Filters": [{"Pattern": '{"eventName": ["INSERT", "MODIFY"]}'}]}

    assert len(mappings) == 11
    for name, one in mappings.items():
        assert (one["MetricsConfig"], one["BisectBatchOnFunctionError"]) == ({"Metrics": ["EventCount"]}, True)
        assert one.get("FilterCriteria") == (written if name.startswith("TellOthers") else None)


def test_the_runbook_has_a_section_for_every_alarm_and_for_no_other(template_stack: TemplateStack) -> None:
    """What it means, how to see it, and what to do."""
    page = (ROOT / "docs" / "how-to" / "runbook.md").read_text()
    sections = dict(re.findall(r"^## `(\w+Alarm)`\n((?:(?!## ).*\n)*)", page, re.M))

    assert sections.keys() == template_stack.alarms.keys()
    assert [name for name, text in sections.items() if "**See:**" not in text or "**Do:**" not in text] == []


def test_no_alarm_counts_refusals_that_clients_cause(template_stack: TemplateStack) -> None:
    """API Gateway's IntegrationError has the 429 of a connection over a limit, which is taken away from it."""
    alarms = str(list(template_stack.alarms.values()))
    expression = template_stack.alarms["WebSocketErrorsAlarm"]["Metrics"][0]["Expression"]

    refusals = ("ClientError", "4xx", "SenderLimited", "ConnectRefused", "'Refused'")
    assert [name for name in refusals if name in alarms] == []
    assert alarms.count("IntegrationError") == 1
    assert "FILL(integration, 0) - FILL(limited, 0)" in expression


def test_errors_of_every_function_set_an_alarm(template_stack: TemplateStack) -> None:
    """API Gateway counts those behind its APIs. Failures of send_probes are missing probes, which have an alarm."""
    watched = {name for name in template_stack.folders if str({"Ref": name}) in str(template_stack.alarms)}
    http, live = ([{"Name": "ApiId", "Value": {"Ref": api}}] for api in ("HttpApi", "WebSocketApi"))
    live.append({"Name": "Stage", "Value": {"Ref": "StageName"}})
    counted = {
        tuple(str(one["MetricStat"]["Metric"][part]) for part in ("Namespace", "MetricName", "Dimensions"))
        for name in ("HttpErrorsAlarm", "WebSocketErrorsAlarm")
        for one in template_stack.alarms[name]["Metrics"]
        if "MetricStat" in one
    }

    assert counted >= {
        ("AWS/ApiGateway", "5xx", str(http)),
        ("AWS/ApiGateway", "ExecutionError", str(live)),
        ("AWS/ApiGateway", "IntegrationError", str(live)),
    }
    assert {"DeclareTopology", "PersistEvents", "PushLive"} <= watched
