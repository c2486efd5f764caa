"""The tables of a run, from its JSON, and the comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from loadtest.checker.findings import FAULTS
from loadtest.report.document import Document
from loadtest.shapes.shape import WRITERS

SPREAD = ("min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
SENT = ("phase", "users", "seconds", "accepted", "accepted/s", "stored", "stored/s")
PHASE = (*SENT, *FAULTS, "unsent", "questions", "failed")
"""The columns of a phase."""
AWS = {
    "read units": "ConsumedReadCapacityUnits",
    "write units": "ConsumedWriteCapacityUnits",
    "throttled reads": "ReadThrottleEvents",
    "throttled writes": "WriteThrottleEvents",
    "throttled requests": "ThrottledRequests",
}
LATENCY = "SuccessfulRequestLatency"
"""Metrics of DynamoDB, as :mod:`loadtest.samples.cloudwatch` names them; boto3 takes long to import."""
Phase = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows of texts below ``heads``; the first ``names`` columns have names, the others numbers."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


def tables(run: Document) -> list[Table]:
    """What happened in each phase, and the processes and functions that did it. Empty tables are left out."""
    phases: Sequence[Phase] = run["phases"]
    made = [
        Table("Phases", PHASE, [_phase(each) for each in phases]),
        Table(
            "Latencies, in ms",
            ("phase", "", "count", *SPREAD),
            [
                (_name(each), name, whole(found["count"]), *(_ms(found.get(each)) for each in SPREAD))
                for each in phases
                for name, found in each["latencies"].items()
            ],
            2,
        ),
        Table("Lanes, queues, refusals, retries and reconnections", ("phase", "", "count"), list(_again(phases)), 2),
        Table(
            "Processes, until everything of the phase was stored",
            ("phase", "process", "CPU, s", "CPU, µs/event", "cores at its rate", "MB first", "MB last", "MB peak"),
            [row for each in phases for row in _processes(each)],
            2,
        ),
        Table(
            "Functions and what they measured",
            ("phase", "function", "times", "mean, ms", "longest, ms"),
            [
                (_name(each), name, whole(found["invocations"]), _ms(found["mean"]), _ms(found["longest"]))
                for each in phases
                for name, found in each["usage"].get("functions", {}).items()
            ],
            2,
        ),
        Table(
            "Consumed capacity of DynamoDB, with indexes",
            ("phase", "table", "kind", "units", "write units/event"),
            [row for each in phases for row in _units(each)],
            3,
        ),
        Table(
            "DynamoDB on AWS, in the minutes of the run",
            ("table, index or operation", *AWS, "requests", "mean, ms", "longest, ms"),
            [_on_aws(name, found) for name, found in run["samples"].get("dynamodb", {}).items()],
        ),
        Table(
            "Metrics of functions",
            ("phase", "metric", "sum"),
            [
                (_name(each), name, whole(count))
                for each in phases
                for name, count in each["usage"].get("counts", {}).items()
            ],
            2,
        ),
    ]
    return [each for each in made if each.rows]


def _phase(phase: Phase) -> Sequence[str]:
    sent, found = phase["sent"], phase["found"]
    read = [whole(found.get(name, 0)) for name in FAULTS] if found else ["not read back"] + ["–"] * (len(FAULTS) - 1)
    return (
        _name(phase),
        whole(phase["users"]),
        f"{phase['seconds']:,.1f}",
        whole(sent["accepted"]),
        whole(_rates(phase)["accepted/s"]),
        whole(found["stored"]) if found else "–",
        whole(_rates(phase)["stored/s"]),
        *read,
        whole(sent["unsent"]),
        whole(phase["counts"].get("questions", 0)),
        whole(failed(phase)),
    )


def failed(phase: Phase) -> int:
    """How many questions were not answered."""
    return sum(count for name, count in phase["counts"].items() if name.startswith("failed "))


def _again(phases: Sequence[Phase]) -> Iterator[Sequence[str]]:
    for phase in phases:
        sent = phase["sent"]
        for title, kind in (("refused", "errors"), ("sent again", "retries"), ("lane", "lanes")):
            yield from ((_name(phase), f"{title}: {code}", whole(count)) for code, count in sorted(sent[kind].items()))
        yield _name(phase), "reconnections", whole(sent["reconnections"])
        deepest = phase["usage"].get("deepest", {})
        yield from ((_name(phase), f"deepest queue: {name}", whole(depth)) for name, depth in sorted(deepest.items()))


def _processes(phase: Phase) -> Iterator[Sequence[str]]:
    """A row for each sampled process, the busiest first, and one for all of them. With a rate, how many cores each
    needs at it, also where the machine had fewer.
    """
    usage, accepted = phase["usage"], phase["sent"]["accepted"]
    rate = sum(load["rate"] for load in phase["phase"]["loads"] if load["kind"] in WRITERS)

    def row(name: str, cpu: float, *sizes: str) -> Sequence[str]:
        each = cpu / accepted if accepted else None
        cores = f"{each * rate:,.2f}" if each is not None and rate else "–"
        return _name(phase), name, f"{cpu:,.2f}", whole(each and each * 1e6), cores, *sizes

    spent = usage.get("cpuSeconds", {})
    for name, cpu in sorted(spent.items(), key=lambda item: -item[1]):
        memory = usage["memory"].get(name)
        if memory is not None:
            yield row(name, cpu, *(f"{memory[at] / 1e6:,.0f}" for at in ("first", "last", "peak")))
    if spent:
        yield row("all of these", sum(spent.values()), "–", "–", "–")


def _units(phase: Phase) -> Iterator[Sequence[str]]:
    accepted = phase["sent"]["accepted"]
    for name, units in sorted(phase["usage"].get("units", {}).items()):
        table, _, kind = name.rpartition(" ")
        if units:
            each = f"{units / accepted:,.2f}" if accepted and kind == "write" else "–"
            yield _name(phase), table, kind, f"{units:,.1f}", each


def _on_aws(name: str, found: Mapping[str, float]) -> Sequence[str]:
    requests = found.get(f"{LATENCY} SampleCount")
    mean = found[f"{LATENCY} Sum"] / requests if requests else None
    sums = (whole(found.get(f"{metric} Sum")) for metric in AWS.values())
    return name, *sums, whole(requests), short(mean), short(found.get(f"{LATENCY} Maximum"))


def _name(phase: Phase) -> str:
    return str(phase["phase"]["name"])


def whole(value: float | None) -> str:
    """A number without decimals."""
    return "–" if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """A number with up to four digits."""
    return "–" if value is None else f"{value:,.4g}" if abs(value) < 1000 else whole(value)


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1000:,.3g}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"


def _rates(phase: Phase) -> dict[str, float | None]:
    found, after = phase["found"], phase["readableAfter"]
    return {
        "accepted/s": phase["sent"]["accepted"] / phase["seconds"] if phase["seconds"] else None,
        "stored/s": found["stored"] / after if found and after else None,
    }


def comparison(one: Document, other: Document) -> list[Table]:
    """A table for each phase: the numbers of both runs, and the ratio of the second to the first."""
    made = []
    for first, second in zip_longest(one["phases"], other["phases"]):
        names = [_name(each) for each in (first, second) if each is not None]
        values = [_measured(each) if each is not None else {} for each in (first, second)]
        both = dict.fromkeys([*values[0], *values[1]])
        rows = [_compared(name, *(each.get(name) for each in values)) for name in both]
        made.append(Table(" / ".join(dict.fromkeys(names)), ("", "A", "B", "B/A"), rows))
    return made


def _compared(name: str, first: float | None, second: float | None) -> Sequence[str]:
    ratio = f"{second / first:.2f}×" if first and second is not None else "–"
    return name, short(first), short(second), ratio


def _measured(phase: Phase) -> dict[str, float | None]:
    """The numbers of a phase that are worth comparing, by their names."""
    accepted, usage = phase["sent"]["accepted"], phase["usage"]
    found: dict[str, float | None] = dict(_rates(phase))
    for name, latency in phase["latencies"].items():
        found |= {
            f"{name} {each}, ms": latency[each] * 1000 for each in ("mean", "p50", "p95", "p99") if each in latency
        }
    cpu = usage.get("cpuSeconds", {})
    if accepted and cpu:
        each_event = {name: seconds / accepted * 1e6 for name, seconds in cpu.items()}
        found["CPU of all sampled processes, µs/event"] = sum(each_event.values())
        found |= {f"CPU of {name}, µs/event": value for name, value in sorted(each_event.items()) if value >= 1}
    found |= {
        f"peak memory of {name}, MB": each["peak"] / 1e6 for name, each in sorted(usage.get("memory", {}).items())
    }
    written = [units for name, units in usage.get("units", {}).items() if name.endswith("write")]
    if accepted and written:
        found["write units/event"] = sum(written) / accepted
    found |= {f"deepest {name} queue": depth for name, depth in usage.get("deepest", {}).items()}
    return found
