"""What DynamoDB did for a stage on AWS during a run, from CloudWatch: units, throttled requests, its own latency."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

LATENCY = "SuccessfulRequestLatency"
"""Milliseconds, by table and operation."""
STATISTICS = {
    LATENCY: ("SampleCount", "Sum", "Maximum"),
    **dict.fromkeys(("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"), ("Sum",)),
    **dict.fromkeys(("ReadThrottleEvents", "WriteThrottleEvents", "ThrottledRequests"), ("Sum",)),
}
MINUTE = 60
DELAY = 180.0
"""Seconds until CloudWatch has what happened in a minute."""
QUERIES = 500
"""Queries of one call."""

Found = dict[str, dict[str, float]]


def with_dynamodb(samples: Mapping[str, Any], stack: str, began: float) -> dict[str, Any]:
    """``samples`` with what the tables of ``stack`` did since ``began`` (epoch seconds), or a note why that is missing.

    Waits until CloudWatch has it.
    """
    ended = time.time()
    print(f"waiting {DELAY:.0f} s until CloudWatch has the last minute", flush=True)
    time.sleep(DELAY)
    try:
        found = tables(stack, began, ended)
        missing = "" if found else f"CloudWatch has no tables of {stack}"
    except (BotoCoreError, ClientError) as error:
        found, missing = {}, str(error)
    notes = [f"DynamoDB's numbers of AWS are missing: {missing}."] if missing else []
    return {**samples, "dynamodb": found, "notes": [*samples["notes"], *notes]}


def tables(stack: str, began: float, ended: float) -> Found:
    """What the tables of ``stack`` did from ``began`` to ``ended`` (epoch seconds), and in the rest of both minutes.

    By a table's logical id, with an index or an operation behind it: each metric with its statistic.

    Raises:
        BotoCoreError, ClientError: the credentials may not read it, or there are none.
    """
    client = boto3.client("cloudwatch")
    pages = client.get_paginator("list_metrics").paginate(Namespace="AWS/DynamoDB")
    wanted = {
        (name, metric["MetricName"], statistic): metric
        for page in pages
        for metric in page["Metrics"]
        if (name := _name(metric, stack))
        for statistic in STATISTICS.get(metric["MetricName"], ())
    }
    left = iter(wanted.items())
    times = {"StartTime": began // MINUTE * MINUTE, "EndTime": (ended // MINUTE + 1) * MINUTE}
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    while part := list(islice(left, QUERIES)):
        queries = [
            {"Id": f"q{at}", "MetricStat": {"Metric": metric, "Period": MINUTE, "Stat": statistic}}
            for at, ((_, _, statistic), metric) in enumerate(part)
        ]
        for page in client.get_paginator("get_metric_data").paginate(MetricDataQueries=queries, **times):
            for result in page["MetricDataResults"]:
                (name, *measure), _ = part[int(result["Id"][1:])]
                _add(found[name], " ".join(measure), result["Values"])
    return {name: values for name, values in found.items() if values}


def _name(metric: Any, stack: str) -> str:
    """The logical id of the metric's table, and its index or operation; empty for a table of another stack."""
    dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
    owner, _, logical = dimensions.pop("TableName", "").rpartition("-")[0].rpartition("-")
    # A table of headrace-test begins with the name of the stack headrace, too.
    return " ".join([logical, *dimensions.values()]) if owner == stack else ""


def _add(found: dict[str, float], name: str, values: Iterable[float]) -> None:
    """Add the values of minutes. A result may come in several pages."""
    for value in values:
        found[name] = max(found.get(name, 0.0), value) if name.endswith("Maximum") else found.get(name, 0.0) + value
