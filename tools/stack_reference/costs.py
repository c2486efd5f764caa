"""The page of costs, from tools/cost and its prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.features.declared.folder import declarations
from headrace.features.declared.stream import Events
from tools.cost import model, prices, stage
from tools.cost.model import SAMPLES, TIME, Load, Position, positions, write_units
from tools.cost.summary import Summary
from tools.stack_reference.markdown import ROOT, page, paragraph, table

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
was measured on a bill. Free tiers, volume discounts, tokens, reads, attachments, the broker's own logs and support are
left out.
"""
SMALLEST = """
`dev` is the smallest stage that keeps all promises: about ${day:.0f} for each day that it exists
([delete it](../how-to/delete-a-stack.md) when you have seen enough). With an issuer of your own (`JwtIssuer`) it has no
Cognito clients, and costs ${without:.0f} a month. What remains is one broker node, which is the smallest that runs
RabbitMQ 4, its disk, and endpoints in one zone for the event source mappings, without which nothing is stored.
"""
WARM = """
`prod` pays about ${once:.0f} more once, when it is made, for tables that are warm from the start (`WarmWriteUnits`).
"""
STORED = """
Storage is that of the steady state: messages arrive and expire at the same rate. A stage reaches it after its
retention, `ChatRetentionDays`. At 100 messages a second, storage costs ${dev:,.0f} a month in `dev` ({dev_days} days)
and ${prod:,.0f} in `prod` ({prod_days} days).

Attachments are paid by the file: about $16 per million for the requests to S3, $0.023 a month for each GB that is kept,
and $0.09 for each GB that readers fetch.
"""
RATES = """
At low rates, the stage at rest costs most. With `make cost PICTURE=docs/pictures/cost.svg`, up to 100 messages a second
in frames of 25, in `dev`:

![The stage costs less than the usual design from about {rate:.0f} messages a second, which are {million:.0f} million a
month.](../pictures/cost.svg)
"""
UNITS = """
An event of up to 1 KB takes a unit for its row, and one for each index that its row is in. A ride or click that is
sent again takes one. A connection takes {open} units to open and {close} to close.
"""
WINDOW = """
Mappings of rides and clicks let a batch fill for 0.5 s. At {rate:.0f} single rides a second in one queue,
`persist_events` costs ${window:.2f} per million rides. Without that window, each call would store only the rides that
came during the call before: ${without:.2f}.
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
    rest = {name: found["**sum**"] for name, found in at_rest.items()}
    clients = at_rest["dev"]["Cognito clients of machines"]
    kept = {
        name: next(one.load for one in positions(Load(), each, listed) if "storage after" in one.name)
        for name, each in stages.items()
    }
    loads = {name: positions(load, stages["dev"], listed) for name, load in LOADS.items()}
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
    return page(
        "Costs",
        "tools/cost and template.yaml",
        paragraph(INTRO.format(region=listed.region, date=listed.date)),
        "## At rest",
        "Dollars per month:",
        table(["position", *stages], _rows(at_rest, ".2f")),
        paragraph(SMALLEST.format(day=rest["dev"] / 30.4, without=rest["dev"] - clients)),
        paragraph(WARM.format(once=model.once(stages["prod"], listed))),
        "## Under load",
        paragraph(f"Dollars per million messages of {Load().event_bytes} bytes, at {RATE:.0f} a second in 10 rooms:"),
        table(["position", *costs], rows),
        paragraph(USUAL),
        paragraph(
            WINDOW.format(
                rate=RATE,
                window=model.persisting(Load(RATE, batch=1), 1, listed, model.WINDOW_SECONDS) / events,
                without=model.persisting(Load(RATE, batch=1), 1, listed) / events,
            )
        ),
        paragraph(
            STORED.format(
                dev=kept["dev"],
                prod=kept["prod"],
                dev_days=stages["dev"].retention["chat"],
                prod_days=stages["prod"].retention["chat"],
            )
        ),
        "## By rate",
        *map(paragraph, RATES.format(rate=even * RATE, million=even * events).strip().split("\n\n")),
        "## Write units",
        table(["event", "write units"], event_units()),
        paragraph(UNITS.format(open=model.OPEN_WRITES, close=model.CLOSE_WRITES)),
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
