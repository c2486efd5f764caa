"""Writes the page of a run, or of two runs that are compared. It needs no network and no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from loadtest.checker.findings import FAULTS
from loadtest.report.charts import charts
from loadtest.report.document import Document, read
from loadtest.report.plots import STYLE, svg
from loadtest.report.tables import Table, comparison, failed, tables

_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def write(path: Path) -> Path:
    """Write the page of the run whose JSON is ``path`` beside it; return the page's path.

    Raises:
        localstage.client.errors.ClientError: it is no result of a run.
    """
    page = path.with_suffix(".html")
    page.write_text(page_of(read(path)), encoding="utf-8")
    return page


def page_of(run: Document) -> str:
    """The page of one run."""
    return _render(f"Load run: {run['shape']['name']}", [_shown(run, "")], [])


def comparison_page(one: Document, other: Document) -> str:
    """The page that compares two runs, and shows both."""
    title = f"Load runs: {one['shape']['name']} and {other['shape']['name']}"
    return _render(title, [_shown(one, "A"), _shown(other, "B")], comparison(one, other))


def _render(title: str, runs: Sequence[Mapping[str, Any]], compared: Sequence[Table]) -> str:
    template = _pages.get_template("page.html")
    return template.render(title=title, style=STYLE, runs=runs, compared=compared)


def _shown(run: Document, label: str) -> dict[str, Any]:
    began, ended = (datetime.fromisoformat(run[at]) for at in ("began", "ended"))
    return {
        "label": label,
        "name": run["run"],
        "partial": run["partial"],
        "passed": run["passed"],
        "verdict": _verdict(run),
        "lines": [*filter(None, [run["verdict"]]), *(line for phase in run["phases"] for line in _lines(phase))],
        "description": run["shape"]["description"],
        "when": f"{began:%Y-%m-%d %H:%M:%S} UTC, {(ended - began).total_seconds():,.0f} s with reading back",
        "notes": run["samples"].get("notes", ()),
        "charts": [svg(each) for each in charts(run)],
        "tables": tables(run),
    }


def _verdict(run: Document) -> str:
    found = [phase["found"] for phase in run["phases"] if phase["found"]]
    faults = [f"{name} {count:,}" for name in FAULTS if (count := sum(each.get(name, 0) for each in found))]
    if faults:
        return f"Faults: {', '.join(faults)}."
    if run["partial"]:
        return "What was read back is stored once, unchanged." if found else "Nothing was read back."
    kept = "Everything that was accepted is stored once, unchanged."
    return kept if run["passed"] else f"{kept} Not everything was sent in time, accepted and answered."


def _lines(phase: Mapping[str, Any]) -> Iterator[str]:
    sent, found, name = phase["sent"], phase["found"], phase["phase"]["name"]
    read_back = " ".join(f"{each}={found.get(each, 0):,}" for each in ("stored", *FAULTS)) if found else "not read back"
    if sent["attempted"]:
        yield f"{name}: accepted={sent['accepted']:,} of {sent['attempted']:,}, {read_back}"
    if questions := phase["counts"].get("questions"):
        yield f"{name}: questions={questions:,} failed={failed(phase):,}"
    yield from (f"{name}: {sentence}" for sentence in phase["problems"])
    yield from (f"{name}, {kind}: {', '.join(names[:5])}" for kind, names in phase["examples"].items())
