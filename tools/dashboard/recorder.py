"""Records the metrics of a running local stage: from new lines in the logs of its functions, and from its state.

CloudWatch would make the same numbers from them: metric lines (EMF) name their namespace and dimensions, and a REPORT
line has the duration of an invocation. Depths of queues are those of ``GET /status``, errors of functions those of
``make status``.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from localstage.client.errors import HttpError
from localstage.client.function_logs import NewLines, duration, metrics
from localstage.client.http_api import HttpApi
from tools.dashboard.definition import SERVICE
from tools.dashboard.recording import MINUTE, Metric, Recording

INTERVAL = 2.0
"""Seconds between two looks; the time of a REPORT line, which has none, is that of the look that found it."""


class Recorder:
    """Collects values by metric and minute since ``began`` (epoch seconds)."""

    def __init__(self, began: float) -> None:
        self._began = began
        self.values: defaultdict[Metric, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._errors: dict[str, int] = {}

    def recording(self, minutes: int) -> Recording:
        """The statistics of the first ``minutes``."""
        kept = {
            metric: {minute: values for minute, values in found.items() if 0 <= minute < minutes}
            for metric, found in self.values.items()
        }
        day = datetime.fromtimestamp(self._began, UTC).date().isoformat()
        return Recording.of_values(day, minutes, {metric: found for metric, found in kept.items() if found})

    def line(self, function: str, text: str, now: float) -> None:
        """Take a line of the log of ``function``, found at ``now``."""
        for each in metrics(text):
            self._at((each.namespace, each.name, each.dimensions), each.at).extend(each.values)
        if (milliseconds := duration(text)) is not None:
            self._function("Duration", function, now).append(milliseconds)

    def depths(self, lanes: Mapping[str, Mapping[str, Any]], now: float) -> None:
        """Take the depths of a ``GET /status``; a lane that it could not read has none."""
        queues = lanes["main"].get("queues", {}).values()
        ready = [each.get("ready") for each in [*queues, lanes["parked"]]]
        if queues and None not in ready:
            self._add("AWS/AmazonMQ", "MessageReadyCount", {"Broker": "BrokerName"}, now).append(sum(ready))
        for lane, queue in (("retry", "RetryQueueName"), ("dead", "DeadLetterQueueName")):
            if "waiting" in lanes[lane]:
                name = "ApproximateNumberOfMessagesVisible"
                self._add("AWS/SQS", name, {"QueueName": queue}, now).append(lanes[lane]["waiting"])

    def errors(self, functions: Mapping[str, Mapping[str, Any]], now: float) -> None:
        """Take the counts of errors since the stage began."""
        for function, counts in functions.items():
            before = self._errors.get(function, counts["errors"])
            self._function("Errors", function, now).append(counts["errors"] - before)
            self._errors[function] = counts["errors"]

    def _function(self, name: str, function: str, now: float) -> list[float]:
        return self._add("AWS/Lambda", name, {"FunctionName": f"{SERVICE}-{function}"}, now)

    def _add(self, namespace: str, name: str, dimensions: Mapping[str, str], now: float) -> list[float]:
        return self._at((namespace, name, tuple(sorted(dimensions.items()))), now)

    def _at(self, metric: Metric, when: float) -> list[float]:
        return self.values[metric][int((when - self._began) // MINUTE)]


def record(
    logs: Path, status: HttpApi, status_url: str, seconds: float, sleep: Callable[[float], None] = time.sleep
) -> Recording:
    """Watch the stage for ``seconds``; ``status`` has the scope ``ops``, ``status_url`` is the stage's own.

    Raises:
        HttpError: the stage does not answer.
    """
    began = time.time()
    recorder, new = Recorder(began), NewLines(logs)
    while (now := time.time()) < began + seconds:
        for function, text in new.lines():
            recorder.line(function, text, now)
        recorder.depths(status.get("/status")["lanes"], now)
        recorder.errors(_functions(status_url), now)
        sleep(max(0.0, INTERVAL - (time.time() - now)))
    return recorder.recording(int(seconds // MINUTE))


def _functions(url: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  (the stage's own loopback URL)
            found: dict[str, Any] = json.load(answer)["functions"]
            return found
    except (OSError, ValueError) as error:
        raise HttpError(0, "unreachable", f"{url} does not answer: {error}") from None
