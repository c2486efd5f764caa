"""The page of metrics, from the calls in the code that count and measure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.stack_reference.markdown import ROOT, bullets, code, page, paragraph

PACKAGE = ROOT / "layers" / "headrace" / "headrace"
MEANINGS = {
    "Accepted": (
        "Events that were acknowledged: confirmed by the broker (lane `main`) or stored in the retry queue (lane "
        "`retry`). A client's repetition counts again."
    ),
    "AnalyticsReadUnits": "Read units of DynamoDB that one analytics request used.",
    "BreakerOpened": "Circuit breakers that opened.",
    "ConfirmSeconds": "The part of `PublishSeconds` that was spent waiting for the broker's confirms.",
    "ConnectRefused": "WebSocket connections that were refused with 401, because of their token.",
    "Dead": (
        "Events that the last try of their record did not store: SQS moves the record to the dead lane. `stream` "
        "is `unknown` for a record that cannot be read."
    ),
    "Discarded": "Events that operators deleted from the dead lane.",
    "HandedOver": "Records, of one or more events, that the main lane sent to the retry lane.",
    "LivePushed": (
        "Frames to subscribers by result: `sent`; `gone` (the connection was closed and is removed); `late` or "
        "`refused` (given up: the subscriber is notified that it missed messages)."
    ),
    "LiveUnread": "Rooms whose subscribers could not be read. Their live messages were not pushed.",
    "LiveUnreadable": "Live copies with an invalid form. They were not pushed.",
    "NotFollowedUp": (
        "Late events that are stored and processed again, because the cache was unavailable and could not be updated."
    ),
    "NotStored": (
        "Failed tries for a temporary reason. In lane `main` the event goes to the retry lane, in lane `retry` it "
        "stays there for a later try."
    ),
    "ParkedMessages": "Messages in the parking queue, counted every 5 minutes; 0 is written too.",
    "ParkedReturned": "Messages that operators moved out of the parking queue, by the lane that took them.",
    "Poison": "Tries that can never succeed: one per event, or one for a record that cannot be read.",
    "ProbeMissing": "Persist queues whose probe of the minute before is not readable; 0 is written too.",
    "ProbeSeconds": "Time from publishing a probe until a consistent read finds it. Not written above 10 s.",
    "PublishSeconds": "Time until the broker confirmed the events of one request, or did not.",
    "Redriven": "Events that operators moved from the dead lane back to the retry lane.",
    "Refused": (
        "Events that were not accepted, by error code: `invalid_event`, `rate_limited`, `unavailable` and others."
    ),
    "SenderLimited": "Times that a caller reached the limit of its kind in an environment: `users` or `trusted`.",
    "StoreSeconds": "Time until the rows of one stream in one invocation were written, retries included.",
    "Stored": (
        "Events at each successful write, by the lane that they arrived on. A redelivery counts again and changes "
        "no row."
    ),
    "Throttled": (
        "Records of the retry lane that were sent again, because a table throttled them. That spends none of their "
        "tries."
    ),
    "UnreadQueues": "Persist and live queues without a consumer, counted every 5 minutes; 0 is written too.",
    "Unexpected": "Unexpected errors, answered with the code `internal`.",
}
INTRO = """
Every function writes its metrics to CloudWatch as log lines in the embedded metric format. They are in the namespace
`Headrace` and have the dimension `service`, the stack's name, and those below. For example, the sum of `Accepted` with
`lane` = `retry` shows how many events took the retry lane. [Alarms](alarms.md) lists the alarms on them,
[How to operate a stage](../how-to/operate.md) says how to check that no event is lost.
"""


@dataclass
class Metric:
    """One metric as the code writes it."""

    unit: str = "Count"
    dimensions: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.FunctionDef]]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    yield node, function


def _names(tree: ast.AST, call: ast.Call, function: ast.FunctionDef) -> list[str]:
    """The names that ``call`` may write: its literal, or the literals passed for the parameter of its function."""
    name = call.args[0]
    if isinstance(name, ast.Constant):
        return [name.value] if isinstance(name.value, str) else []
    assert isinstance(name, ast.Name), ast.unparse(call)
    at = [argument.arg for argument in function.args.args if argument.arg != "self"].index(name.id)
    callers = [each for each, _ in _calls(tree) if isinstance(each.func, ast.Attribute)]
    passed = [each.args[at] for each in callers if each.func.attr == function.name]  # type: ignore[attr-defined]
    return [each.value for each in passed if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def _is_meter(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    owner = ast.unparse(call.func.value)
    return call.func.attr in ("count", "measure") and owner.split(".")[-1] == "meter"


def metrics() -> dict[str, Metric]:
    """Every metric that the code writes."""
    found: dict[str, Metric] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for call, function in _calls(tree):
            for name in _names(tree, call, function) if _is_meter(call) else ():
                metric = found.setdefault(name, Metric())
                metric.dimensions |= {each.arg for each in call.keywords if each.arg}
                metric.modules.add(str(path.relative_to(PACKAGE)))
                units = [each.attr for each in call.args if ast.unparse(each).startswith("MetricUnit.")]  # type: ignore[attr-defined]
                metric.unit = units[0] if units else metric.unit
    return dict(sorted(found.items()))


def render() -> str:
    """The page."""
    found = metrics()
    assert found.keys() == MEANINGS.keys(), f"describe in MEANINGS: {found.keys() ^ MEANINGS.keys()}"
    blocks = [paragraph(INTRO)]
    for name, metric in found.items():
        facts = [
            ("Unit", metric.unit),
            ("Dimensions", ", ".join(code(each) for each in sorted(metric.dimensions))),
            ("Written in", ", ".join(code(each) for each in sorted(metric.modules))),
        ]
        blocks.append(f"## `{name}`\n\n{paragraph(MEANINGS[name])}\n\n{bullets(facts)}")
    return page("Metrics", "the calls of `meter.count` and `meter.measure`", *blocks)
