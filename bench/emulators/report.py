"""What was measured of each emulator, as a table and as series."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.suite.rounds import Series, figure, ratio

ON_DISK, OF_THE_STAGE = "dynalite, --path", "dynalite of the stage"


@dataclass
class Result:
    """The measurements of one candidate: seconds, ``memory`` in bytes, ``latency`` in ms by number of items."""

    name: str
    start: float = 0.0
    items: int = 0
    seconds: float = 0.0
    server_cpu: float = 0.0
    memory: int = 0
    latency: dict[int, tuple[float, float]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    survives: dict[str, str] = field(default_factory=dict)


def report(results: list[Result]) -> None:
    print(
        "| emulator | up in | items/s | emulator CPU per item | Query of room / user index at n items | memory"
        " | after kill -9 |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for seen in results:
        queries = ", ".join(f"{room:.1f} / {user:.1f} ms at {count:,}" for count, (room, user) in seen.latency.items())
        kept = "; ".join(f"{service}: {text}" for service, text in seen.survives.items())
        rate, cost = seen.items / max(seen.seconds, 1e-9), seen.server_cpu / max(seen.items, 1) * 1e6
        print(
            f"| {seen.name} | {seen.start:.1f} s | {rate:,.0f} ({seen.items:,} in {seen.seconds:.0f} s) | {cost:.0f} µs"
            f" | {queries} | {seen.memory / 1e6:.0f} MB | {kept} |"
        )
    for seen in results:
        print(f"\n{seen.name} answers differently from AWS:")
        for title, fault in seen.wrong.items():
            print(f"- {title}: {fault}")


def numbers(rounds: list[list[Result]]) -> list[Series]:
    """Items per second and CPU of every candidate; the stage's dynalite also against the same without its changes."""
    rates: dict[str, list[float]] = {result.name: [] for result in rounds[0]}
    costs: dict[str, list[float]] = {result.name: [] for result in rounds[0]}
    for result in (result for results in rounds for result in results):
        rates[result.name].append(result.items / max(result.seconds, 1e-9))
        costs[result.name].append(result.server_cpu / max(result.items, 1) * 1e6)
    found = [figure(f"{name}, items/s", values, "") for name, values in rates.items()]
    if {OF_THE_STAGE, ON_DISK} <= rates.keys():
        found.append(ratio("items/s of the stage against dynalite", rates[OF_THE_STAGE], rates[ON_DISK], "higher"))
        found.append(ratio("CPU per item of the stage against dynalite", costs[OF_THE_STAGE], costs[ON_DISK], "lower"))
    return found
