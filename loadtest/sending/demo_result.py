"""What a demo of a stream that is not chat came to, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from loadtest.chat import display
from loadtest.checker.findings import EXAMPLES, Findings
from loadtest.sending.http_sender import Account
from loadtest.sending.queue_depths import Depths
from localstage.client.http_api import HttpApi

DRAINED_WITHIN = 120.0


class Questions(Protocol):
    """All questions about one run's events."""

    @property
    def subjects(self) -> int:
        """How many subjects are asked about."""
        ...

    def run(self, advance: Callable[[int], object]) -> Findings:
        """Ask everything; ``advance`` is told of each subject that is done."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What a run came to: ``attempted`` counts events."""

    attempted: int
    account: Account
    findings: Findings

    @property
    def exit_code(self) -> int:
        """0 only if every POST was answered, every event accepted, and every question answered rightly."""
        return 0 if self.account.accepted == self.attempted and self.findings.kept else 1

    def line(self) -> str:
        """The last line."""
        account, findings = self.account, self.findings
        return (
            f"posts={account.answered} unanswered={self.attempted - account.accepted - account.refused} "
            f"accepted={account.accepted} "
            f"stored={findings.stored} lost={findings.lost} unexpected={findings.unexpected} "
            f"wrong={len(findings.wrong)} acks {account.latency}"
        )


def ask(console: Console, watch: Depths, questions: Questions) -> Findings:
    """Wait until the lanes are drained, for two minutes at most, and ask everything.

    Raises:
        HttpError: a question is not answered.
    """
    if not watch.wait_until_drained(DRAINED_WITHIN):
        console.print(f"the lanes were not empty within {DRAINED_WITHIN:.0f} s", style="red")
    with display.progress_bar(console, "asked", questions.subjects) as advance:
        return questions.run(advance)


def show(console: Console, outcome: Outcome, what: str, seconds: float) -> None:
    """A table of what was sent in ``seconds`` and asked, and a few wrong answers; ``what`` names the events."""
    account, findings = outcome.account, outcome.findings
    shown = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    lanes = ", ".join(f"{lane} {count:,}" for lane, count in sorted(account.lanes.items()))
    rows = {
        "sent in": f"{seconds:.1f} s ({account.accepted / seconds:,.0f} {what}/s in "
        f"{account.answered / seconds:,.0f} POSTs/s)",
        "lanes": lanes or "none",
        "sent again": ", ".join(f"{code} {count:,}" for code, count in account.errors.items()) or "nothing",
        "asked": ", ".join(f"{question} {count:,}" for question, count in findings.asked.items()),
    }
    for name, value in rows.items():
        shown.add_row(Text(name, style="bold"), Text(value))
    console.print()
    console.print(shown)
    for wrong in findings.wrong[:EXAMPLES]:
        console.print(wrong, markup=False, style="red", soft_wrap=True)


def show_statistics(console: Console, api: HttpApi) -> None:
    """The platform's own view: how long each route took inside its function.

    Raises:
        HttpError: it is not told.
    """
    shown = Table(box=None, padding=(0, 2, 0, 0))
    shown.add_column("mean ms", justify="right")
    shown.add_column("max ms", justify="right")
    shown.add_column("route", overflow="fold")
    for each in api.get("/statistics")["endpointStats"]:
        shown.add_row(f"{each['mean']:,.1f}", f"{each['max']:,.1f}", f"{each['operation']} {each['URL']}")
    console.print(Rule(Text("GET /statistics", style="bold"), align="left"))
    console.print(shown)
