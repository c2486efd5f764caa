"""The result of a ski or ads demo: what was sent, accepted and found in the answers to all queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from loadtest.checker.findings import EXAMPLES, Findings
from loadtest.sending.http_sender import SendStatistics
from loadtest.sending.progress import progress_bar
from loadtest.sending.queue_depths import QueueDepths, table
from localstage.client.http_api import HttpApi

DRAINED_WITHIN = 120.0


class Queries(Protocol):
    """All queries about the events of one run."""

    @property
    def subjects(self) -> int:
        """How many subjects are queried."""
        ...

    def run(self, advance: Callable[[int], object]) -> Findings:
        """Run every query; call ``advance`` after each subject."""
        ...


@dataclass(frozen=True)
class DemoResult:
    """The result of a run; ``attempted`` counts events."""

    attempted: int
    statistics: SendStatistics
    findings: Findings

    @property
    def exit_code(self) -> int:
        """0 only if every event was accepted and every answer is right."""
        return 0 if self.statistics.accepted == self.attempted and self.findings.kept else 1

    def line(self) -> str:
        """The last line."""
        sent, findings = self.statistics, self.findings
        return (
            f"posts={sent.answered} unanswered={self.attempted - sent.accepted - sent.refused} "
            f"accepted={sent.accepted} "
            f"stored={findings.stored} lost={findings.lost} unexpected={findings.unexpected} "
            f"wrong={len(findings.wrong)} acks {sent.latency}"
        )


def check(
    console: Console,
    api: HttpApi,
    queries: Queries,
    attempted: int,
    statistics: SendStatistics,
    depths: QueueDepths,
    *,
    events: str,
    seconds: float,
) -> DemoResult:
    """Wait until both lanes are empty (at most two minutes), run all queries and print the result.

    ``events`` is the plural name of the events to print, ``seconds`` the duration of the sending.

    Raises:
        HttpError: a query is not answered.
    """
    console.print(table(depths.samples, events))
    if not depths.wait_until_drained(DRAINED_WITHIN):
        console.print(f"the lanes were not empty within {DRAINED_WITHIN:.0f} s", style="red")
    with progress_bar(console, "queried", queries.subjects) as advance:
        findings = queries.run(advance)
    _show(console, statistics, findings, events, seconds)
    _show_statistics(console, api)
    return DemoResult(attempted, statistics, findings)


def _show(console: Console, sent: SendStatistics, findings: Findings, events: str, seconds: float) -> None:
    shown = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    lanes = ", ".join(f"{lane} {count:,}" for lane, count in sorted(sent.lanes.items()))
    rows = {
        "sent in": f"{seconds:.1f} s ({sent.accepted / seconds:,.0f} {events}/s in "
        f"{sent.answered / seconds:,.0f} POSTs/s)",
        "lanes": lanes or "none",
        "sent again": ", ".join(f"{code} {count:,}" for code, count in sent.errors.items()) or "nothing",
        "queries": ", ".join(f"{query} {count:,}" for query, count in findings.asked.items()),
    }
    for name, value in rows.items():
        shown.add_row(Text(name, style="bold"), Text(value))
    console.print()
    console.print(shown)
    for wrong in findings.wrong[:EXAMPLES]:
        console.print(wrong, markup=False, style="red", soft_wrap=True)


def _show_statistics(console: Console, api: HttpApi) -> None:
    """Print the platform's own latencies per route."""
    shown = Table(box=None, padding=(0, 2, 0, 0))
    shown.add_column("mean ms", justify="right")
    shown.add_column("max ms", justify="right")
    shown.add_column("route", overflow="fold")
    for each in api.get("/statistics")["endpointStats"]:
        shown.add_row(f"{each['mean']:,.1f}", f"{each['max']:,.1f}", f"{each['operation']} {each['URL']}")
    console.print(Rule(Text("GET /statistics", style="bold"), align="left"))
    console.print(shown)
