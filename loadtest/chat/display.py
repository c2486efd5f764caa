"""Shows the progress and a summary of a replay in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from loadtest.checker.verdict import Verdict


@contextmanager
def progress_bar(console: Console, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of items just done. Without a terminal the bar is printed at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"{title:<12}", total=total)
        yield lambda done: bar.advance(task, done)


def summary(console: Console, rows: Mapping[str, str], errors: Mapping[str, int], verdict: Verdict) -> None:
    """Print ``rows``, the errors by code, and examples of each fault that ``verdict`` found."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    for code, count in sorted(errors.items()):
        table.add_row(Text(f"error {code}", style="bold red"), Text(f"{count:,}"))
    for kind, names in verdict.examples.items():
        table.add_row(Text(kind, style="bold red"), Text("\n".join(names)))
    console.print()
    console.print(table)
