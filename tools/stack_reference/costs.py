"""The page of costs, from tools/cost and its prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.cost import model, prices, stage
from tools.cost.model import Load, Position, positions
from tools.cost.summary import Summary
from tools.stack_reference.markdown import page, paragraph, table

RATE = 100.0
LOADS = {
    "single frames": Load(RATE, batch=1),
    "frames of 25": Load(RATE),
    "HTTP batches of 500": Load(RATE, batch=500, http=True),
}
INTRO = """
What a stage costs on AWS, as `make cost` prints it. For example, `make cost RATE=1000 BATCH=25 LISTENERS=20
STAGE_ENV=prod` prints dollars per month and per million events for 1,000 events a second, each pushed to 20
subscribers. All figures are computed from the list prices of {region}, {date}, in
[`prices.toml`](../../tools/cost/prices.toml), and from the assumptions at the top of
[`model.py`](../../tools/cost/model.py). None
was measured on a bill. Free tiers, tokens, reads and support are left out.
"""
USUAL = """
The usual design is one frame with an acknowledgement, one function call and one put per event, into the same table with
the same indexes. It costs nothing at rest. It keeps no event while its table is unavailable or throttles.
"""


def render() -> str:
    """The page."""
    listed = prices.read()
    stages = {name: stage.read(name) for name in stage.STAGES}
    at_rest = {name: _sums(positions(Load(), each, listed), lambda one: one.rest) for name, each in stages.items()}
    loads = {name: positions(load, stages["dev"], listed) for name, load in LOADS.items()}
    events = RATE * model.SECONDS / 1e6
    summaries = {name: Summary(tuple(found)) for name, found in loads.items()}
    costs = {name: _sums(found, lambda one: one.load / events) for name, found in loads.items()}
    costs |= {"usual design": _sums(loads["frames of 25"], lambda one: one.usual / events)}
    shares = [
        ("part of the usual design", [f"{each.share:.0%}" for each in summaries.values()]),
        ("all but DynamoDB", [f"{each.share_without_dynamodb:.0%}" for each in summaries.values()]),
    ]
    rows = _rows(costs, ".3f") + [[name, *values, ""] for name, values in shares]
    return page(
        "Costs",
        "tools/cost and template.yaml",
        paragraph(INTRO.format(region=listed.region, date=listed.date)),
        "## At rest",
        "Dollars per month:",
        table(["position", *stages], _rows(at_rest, ".2f")),
        "## Under load",
        paragraph(f"Dollars per million messages of {Load().event_bytes} bytes, at {RATE:.0f} a second in 10 rooms:"),
        table(["position", *costs], rows),
        paragraph(USUAL),
    )


def _sums(found: Sequence[Position], value: Callable[[Position], float]) -> dict[str, float]:
    named = {each.name.partition(",")[0] if each.rest else each.name: value(each) for each in found}
    shown = {name: amount for name, amount in named.items() if amount}
    return {**shown, "**sum**": sum(shown.values())}


def _rows(columns: dict[str, dict[str, float]], form: str) -> list[list[str]]:
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    names.sort(key=lambda name: name == "**sum**")
    return [
        [name, *(f"{column[name]:{form}}" if name in column else "" for column in columns.values())] for name in names
    ]
