"""``python -m tools.plan``: prints what a rate of events needs of a stage, and what saturates first as it grows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console
from rich.table import Table

from headrace.streams.chat.live.frames import BATCH_LIMIT
from loadtest.client.command import Parser, between, exit_code_of
from localstage.core.errors import StageError
from tools.cost import prices, stage
from tools.cost.command import load_parser
from tools.cost.model import SAMPLES, Load, items
from tools.cost.prices import Prices
from tools.cost.stage import Stage
from tools.cost.summary import Summary
from tools.plan.parts import CORES, LARGEST, MOST_BROKERS, PAGES, Part, broker, parts

RATES = (100, 1_000, 10_000, 100_000, 1_000_000)
HOUR = 3600


def parser() -> Parser:
    """The command's parser."""
    made = load_parser("python -m tools.plan", __doc__, 1_000.0, "dev")
    add = made.add_argument
    add("--hot", type=partial(between, 1, 100), default=1, help="percent of the busiest room, resort or ad (default 1)")
    add("--stream", choices=sorted(SAMPLES), default="chat", help="default chat")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the plan."""
    return exit_code_of(lambda: run(**vars(parser().parse_args(arguments))), StageError)


def run(rate: float, event_bytes: int, batch: int, hot: int, stream: str, config_env: str) -> int:
    """Print the use of each part at ``rate``, and for each of ``RATES`` its price and what is full.

    Raises:
        StageError: there is no such stage.
    """
    is_http = stream != "chat" or batch > BATCH_LIMIT
    load = Load(rate, event_bytes, batch, http=is_http, stream=stream)
    read, listed = stage.read(config_env), prices.read()
    console = Console(highlight=False)
    console.width = max(console.width, 160)
    found = parts(load, read, hot / 100)
    sent = "requests" if is_http else "frames"
    head = (
        f"{config_env}: {rate:,.0f} {stream} events/s of {event_bytes} bytes, {sent} of {batch}, {hot}% in the busiest"
    )
    console.print(f"{head}\n")
    console.print(_uses(found, rate))
    console.print("\nAs the rate grows:\n")
    console.print(_growth(load, read, listed, hot / 100))
    console.print("\n" + "\n".join(_notes(read, listed, load)))
    return 0


def _uses(found: Sequence[Part], rate: float) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("part", "use", "needs", "has", "", "full at", "moved by", "source"):
        table.add_column(name, justify="right" if name in ("use", "needs", "has", "full at") else "left")
    for part in found:
        is_full = "[bold red]" if part.use > 1 else ""
        cells = (f"{is_full}{part.use:,.1%}", f"{part.used:,.1f}", f"{part.limit:,.0f}", part.unit)
        table.add_row(part.name, *cells, f"{rate / part.use:,.0f}/s", part.moved_by, part.source)
    return table


def _growth(load: Load, read: Stage, listed: Prices, hot: float) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("events/s", "$/month", "$/M events", "full, in addition to the parts before"):
        table.add_column(name, justify="left" if name.startswith("full") else "right")
    known: set[str] = set()
    for rate in RATES:
        at = replace(load, rate=float(rate))
        full = [part.name for part in parts(at, read, hot) if part.use > 1 and part.name not in known]
        known.update(full)
        total = Summary(tuple(items(at, read, listed)))
        month = total.rest + total.load
        table.add_row(f"{rate:,}", f"{month:,.0f}", f"{month / at.events * 1e6:,.2f}", "; ".join(full) or "–")
    return table


def _notes(read: Stage, listed: Prices, load: Load) -> list[str]:
    provisioned = listed("dynamodb_provisioned_write") / (HOUR * listed("dynamodb_write"))
    largest = broker(load, replace(read, instance=LARGEST, values={**read.values, "BrokerCount": 1}))
    return [
        f"Provisioned tables with autoscaling cost less from {provisioned:.0%} use of their units on average:"
        " MinimumTableUnits.",
        f"One broker of the largest type ({LARGEST}, {CORES[LARGEST]} cores) takes {load.rate / largest.use:,.0f}"
        f" of these events/s, and {MOST_BROKERS} of them (BrokerCount) {MOST_BROKERS * load.rate / largest.use:,.0f}"
        " (docs/adr/0079-several-brokers.md).",
        "Prices are those of the steady state, with the stage's own broker. All is computed, not measured on AWS.",
        f"not confirmed: {', '.join(listed.unconfirmed)}",
        *(f"{name}: {page}" for name, page in PAGES.items()),
    ]


if __name__ == "__main__":
    sys.exit(main())
