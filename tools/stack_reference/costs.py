"""The page of costs, from tools/cost and its prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.cost import model, prices, stage
from tools.cost.model import Load, Position, positions
from tools.cost.summary import Summary
from tools.stack_reference.markdown import bullets, page, paragraph, table

RATE = 100.0
LOADS = {
    "single frames": Load(RATE, batch=1),
    "frames of 25": Load(RATE),
    "HTTP batches of 500": Load(RATE, batch=500, http=True),
}
INTRO = """
What a stage costs on AWS, as `make cost` prints it. For example, `make cost RATE=1000 BATCH=25 LISTENERS=20
STAGE_ENV=prod` prints dollars per month and per million events for 1,000 events a second, each pushed to 20
subscribers. All figures are computed from list prices of {region}, {date}, and from the assumptions below; none was
measured on a bill. Free tiers, tokens, reads and support are left out.
"""
USUAL = """
The usual design is one frame with an acknowledgement, one function call and one put per event, into the same table with
the same indexes. It costs nothing at rest. It keeps no event while its table is unavailable or throttles.
"""
CHECKS = """
A connection that is open all month costs ${connection:.4f}, and its checks ${checks:.4f} with one check frame every 7
minutes, as the Python client sends for up to 20 rooms; a subscription per room and 45 s would cost ${often:.2f}. A live
copy costs ${live:.2f} per million frames.
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
        paragraph(_checks(stages["dev"], listed)),
        "## Assumptions",
        bullets(_assumptions()),
        "## Prices",
        table(["price", "dollars", "per", "source"], _prices(listed)),
    )


def _checks(dev: stage.Stage, listed: prices.Prices) -> str:
    def of(load: Load, name: str) -> float:
        return sum(each.load for each in positions(load, dev, listed) if each.name == name)

    one = Load(RATE, connections=1)
    return CHECKS.format(
        connection=of(one, "connections"),
        checks=of(one, "checks of connections"),
        often=of(Load(RATE, connections=1, check_seconds=45), "checks of connections"),
        live=listed("websocket_message") * 1e6,
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


def _assumptions() -> list[tuple[str, str]]:
    return [
        (
            "Receiving",
            f"{model.RECEIVE_SECONDS * 1e3:g} ms a call and {model.RECEIVE_EVENT_SECONDS * 1e3:g} ms an event, "
            f"{model.GIGABYTES:g} GB; in the usual design {model.USUAL_SECONDS * 1e3:g} ms and "
            f"{model.USUAL_GIGABYTES:g} GB",
        ),
        (
            "Persisting",
            f"{model.PERSIST_SECONDS * 1e3:g} ms a call and {model.PERSIST_EVENT_SECONDS * 1e3:g} ms an event; a call "
            "takes what has arrived in its queue during the call before, at least one message",
        ),
        (
            "Pushing",
            f"{model.PUSH_SECONDS * 1e3:g} ms a frame; live copies are pushed in frames as large as those sent",
        ),
        ("Logs", f"{model.LOG_BYTES} bytes a call"),
        ("Metrics", f"{model.CUSTOM_METRICS} custom metrics"),
        (
            "Checks",
            f"{model.CHECK_CALL_SECONDS * 1e3:g} ms, {model.CHECK_WRITES} write unit, {model.CHECK_READS} read units",
        ),
        ("Last activity", "one write per frame, at most four a second and room"),
    ]


def _prices(listed: prices.Prices) -> list[list[str]]:
    return [
        [name.replace("_", " "), f"{each.dollars:.10f}".rstrip("0").rstrip("."), each.per, _source(each)]
        for name, each in listed.named.items()
    ]


def _source(price: prices.Price) -> str:
    return price.source if price.confirmed else f"**not confirmed**: {price.source}"
