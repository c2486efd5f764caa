"""The page of costs, from tools/cost and its prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.features.declared.folder import declarations
from headrace.features.declared.stream import Events
from tools.cost import model, prices, stage
from tools.cost.model import SAMPLES, TIME, Item, Load, items, write_units
from tools.cost.summary import Summary
from tools.stack_reference.markdown import ROOT, rendered, table

RATE = 100.0
LOADS = {
    "single frames": Load(RATE, batch=1),
    "frames of 25": Load(RATE),
    "HTTP batches of 500": Load(RATE, batch=500, http=True),
}


def render() -> str:
    """The page."""
    listed = prices.read()
    stages = {name: stage.read(name) for name in stage.STAGES}
    at_rest = {name: _sums(items(Load(), each, listed), lambda one: one.rest) for name, each in stages.items()}
    rest = {name: found["**sum**"] for name, found in at_rest.items()}
    clients = at_rest["dev"]["Cognito clients of machines"]
    kept = {
        name: next(one.load for one in items(Load(), each, listed) if "storage after" in one.name)
        for name, each in stages.items()
    }
    loads = {name: items(load, stages["dev"], listed) for name, load in LOADS.items()}
    events = RATE * model.SECONDS / 1e6
    summaries = {name: Summary(tuple(found)) for name, found in loads.items()}
    even = summaries["frames of 25"].break_even or 0.0
    costs = {name: _sums(found, lambda one: one.load / events) for name, found in loads.items()}
    costs |= {"usual design": _sums(loads["frames of 25"], lambda one: one.usual / events)}
    shares = [
        ("part of the usual design", [f"{each.share:.0%}" for each in summaries.values()]),
        ("all but DynamoDB", [f"{each.share_without_dynamodb:.0%}" for each in summaries.values()]),
    ]
    rows = _rows(costs, ".3f") + [[name, *values, ""] for name, values in shares]
    return rendered(
        "costs",
        listed=listed,
        model=model,
        stages=stages,
        at_rest=table(["item", *stages], _rows(at_rest, ".2f")),
        rest=rest,
        clients=clients,
        once=model.once(stages["prod"], listed),
        event_bytes=Load().event_bytes,
        rate=round(RATE),
        under_load=table(["item", *costs], rows),
        window=model.persisting(Load(RATE, batch=1), 1, listed, model.WINDOW_SECONDS) / events,
        without_window=model.persisting(Load(RATE, batch=1), 1, listed) / events,
        kept=kept,
        even=even,
        events=events,
        units=table(["event", "write units"], event_units()),
    )


def event_units() -> list[list[str]]:
    doors, *_ = declarations(str(ROOT / "examples" / "streams"))
    return [
        ["a message", str(write_units(*SAMPLES["chat"]))],
        ["a message that is stored late", str(write_units(*SAMPLES["chat"], storedAt=TIME))],
        ["a reply", str(write_units(*SAMPLES["chat"], thread=""))],
        ["a lift ride", str(write_units(*SAMPLES["ski"]))],
        ["an ad click", str(write_units(*SAMPLES["ads"]))],
        ["an event of a declared stream with users", str(write_units(Events(doors).stream, {"door": "front"}))],
    ]


def _sums(found: Sequence[Item], value: Callable[[Item], float]) -> dict[str, float]:
    named = {each.name.partition(",")[0] if each.rest else each.name: value(each) for each in found}
    shown = {name: amount for name, amount in named.items() if amount}
    return {**shown, "**sum**": sum(shown.values())}


def _rows(columns: dict[str, dict[str, float]], form: str) -> list[list[str]]:
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    names.sort(key=lambda name: name == "**sum**")
    return [
        [name, *(f"{column[name]:{form}}" if name in column else "" for column in columns.values())] for name in names
    ]
