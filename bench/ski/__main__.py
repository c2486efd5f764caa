"""Measures rides of 32 to 256 clients on five stages: ``python -m bench.ski``.

These are the configurations of a published ski server. One has no table: rides are accepted and consumed, and nothing
is stored. Two have one and two environments of receive_http, which receives the rides. In the last two, as many as the
local stage starts, receive_http is the same, and a table has a row for each ride, which is Headrace, or a row for each
skier's day, to which rides are added up. The stages without a table and with added rows have another function in the
place of persist_events: ``bench/ski/peers``.

All stages run at the same time and are measured in turns. A client sends its next ride when the last one is answered.
There are 5,000 skiers, who ride one after the other. CPU is that of each process per ride, until the last is stored.
The numbers are printed as tables, and drawn in ``.local/bench/ski.svg``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from bench import ROOT
from bench.rounds import Series, command, head, median_text, percentile, row
from bench.singles.senders import Kind, posts, send
from bench.stages import COMPONENTS, OTHER, Stage, started
from loadtest.checker.durability_probe import DurabilityProbe, Look
from loadtest.client.stage_template import write_template
from loadtest.report.plots import BarChart, picture
from localstage.client.errors import ClientError

STATE = ROOT / ".local" / "bench-ski"
PICTURE = ROOT / ".local" / "bench" / "ski.svg"
DRAWN = ("accepted/s", "stored/s", "acks p99, ms", "durable p99, ms", "all, µs")
"""What the picture has a chart of."""
PEERS = Path(__file__).with_name("peers")
SKIERS, DAY = 5_000, "1#2025#1"
ADDS = "add_up.py"
SAMPLE_SECONDS, LOOK_SECONDS = 0.25, 0.1
"""Seldom, because what looks for rides takes CPU too."""
TABLE = """
  SkierDaysTable:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: skierID, AttributeType: S}, {AttributeName: day, AttributeType: S}]
      KeySchema: [{AttributeName: skierID, KeyType: HASH}, {AttributeName: day, KeyType: RANGE}]

  RoomsTable:
"""
VARIABLE = "          RETRY_FIRST_PAUSE_SECONDS: !Ref RetryFirstPauseSeconds\n"
EDITS = [("\n  RoomsTable:\n", TABLE), (VARIABLE, f"{VARIABLE}          SKIER_DAYS_TABLE: !Ref SkierDaysTable\n")]
"""Edits of the template that add a table for rows that are added up."""


def ride(number: int) -> tuple[str, dict[str, Any]]:
    """A skier's first ride, then that of the next skier; when all skiers had one, their second ones."""
    path = f"/skiers/1/seasons/2025/days/1/skiers/{number % SKIERS + 1}"
    return path, {"time": number // SKIERS, "liftID": number % 40 + 1}


RIDE = Kind(1, lambda target, place: posts(target, ride, place))


def template_of(folder: Path, receivers: int, peer: str) -> Path:
    """Write the template of a :class:`Configuration` into ``folder``; return its path."""
    parameters = {"ReceiveHttpConcurrency": str(receivers)} if receivers else {}
    template = write_template(folder, EDITS if peer else [], parameters)
    if peer:
        code = (PEERS / peer).read_text(encoding="utf-8")
        (folder / "functions" / "persist_events" / "app.py").write_text(code, encoding="utf-8")
    return template


class Configuration(Stage):
    """A stage whose rides are stored by persist_events.

    ``receivers`` bounds the environments of receive_http; 0 leaves it to the local stage. ``peer`` is the function in
    the place of persist_events.
    """

    def __init__(self, name: str, receivers: int = 0, peer: str = "") -> None:
        folder = STATE / name.replace(" ", "-")
        super().__init__(folder, "--template", str(template_of(folder / "template", receivers, peer)))
        self.name, self._peer, self._stores = name, peer, peer != "drop.py"

    def start(self) -> None:
        """Start it, and add the season of the rides."""
        super().start()
        self.target.http("ski", "events:write").post("/resorts/1/seasons", {"year": "2025"})
        self._reader = self.target.http("ski", "analytics:read")
        self._days: Any = self.table("SkierDaysTable") if self._peer == ADDS else None

    def _look(self, number: int) -> Look:
        """Looks for one ride, by the question that a client would ask, or in the row of its skier's day."""
        path, sent = ride(number)
        skier = path.rpartition("/")[2]

        def asked() -> int:
            found = self._reader.get(f"/skiers/seasons/2025/days/1/skiers/{skier}")["rides"]
            return sum(each["time"] == sent["time"] for each in found)

        def added() -> int:
            item = self._days.get_item(Key={"skierID": skier, "day": DAY}, ConsistentRead=True).get("Item")
            return int(item is not None and item["rides"] > sent["time"])

        return added if self._peer == ADDS else asked

    @staticmethod
    def _await(look: Look) -> None:
        """Return when ``look`` finds its ride."""
        while True:
            with suppress(ClientError):  # as long as there is nothing to ask for
                if look():
                    return
            time.sleep(LOOK_SECONDS)

    def measure(self, clients: int, seconds: float) -> None:
        """Let ``clients`` send rides, wait until they are stored, and add the numbers of this round."""
        durable: list[float] = []
        last, began = 0, float("inf")
        probe = DurabilityProbe(
            lambda numbers: (1, self._look(numbers[0])),
            lambda taken, _count: durable.append(taken),
            every=SAMPLE_SECONDS,
            interval=LOOK_SECONDS,
        )

        def answered(number: int, sent_at: float) -> None:
            nonlocal last, began
            last, began = max(last, number), min(began, sent_at)
            if self._stores:
                probe.offer([number], sent_at)

        self.cpu()
        sent = uvloop.run(send(self.target, RIDE, self.numbers, seconds, clients, answered))
        found = {"accepted/s": sent.events / sent.seconds}
        acks = {f"acks p{part}, ms": percentile(sent.latencies, part) * 1e3 for part in (50, 99)}
        if self._stores:
            self._await(self._look(last))
            found["stored/s"] = sent.events / (time.perf_counter() - began)
            probe.finish()
            durable.sort()
            acks |= {f"durable p{part}, ms": percentile(durable, part) * 1e3 for part in (50, 99)}
        cpu = self.cpu_until_stored()
        each = {f"{name}, µs": cpu[name] / sent.events * 1e6 for name in (*dict.fromkeys(COMPONENTS.values()), OTHER)}
        for measure, value in {**found, **acks, **each, "all, µs": sum(each.values())}.items():
            self.found[f"{clients} clients", measure].append(value)
        print(f"{clients} clients, {self.name}: {found['accepted/s']:,.0f} accepted/s", flush=True)


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "no table": {"peer": "drop.py"},
    "one receiver": {"receivers": 1},
    "two receivers": {"receivers": 2},
    "row per ride": {},
    "rows added up": {"peer": ADDS},
}
"""Each stage by its name, with the arguments of :class:`Configuration`."""


def drawn(stages: Sequence[Configuration], counts: Sequence[int]) -> str:
    """Bars of each configuration by the number of clients; the stage without a table stores nothing."""

    def bars(measure: str) -> dict[str, list[float]]:
        return {
            f"{count} clients": [median(stage.found.get((f"{count} clients", measure), [0.0])) for stage in stages]
            for count in counts
        }

    names = [stage.name for stage in stages]
    charts = [BarChart(measure.replace("all, µs", "CPU per ride, µs"), "", names, bars(measure)) for measure in DRAWN]
    return picture("Rides in five configurations", charts)


def main(rounds: int, seconds: float, clients: str) -> list[Series]:
    stages = [Configuration(name, **given) for name, given in CONFIGURATIONS.items()]
    counts = [int(each) for each in clients.split(",")]
    with started(*stages):
        for stage in stages:  # warm up
            stage.measure(counts[0], seconds)
            stage.found.clear()
        for number in range(rounds):
            for count in counts:
                for stage in stages if number % 2 else stages[::-1]:
                    stage.measure(count, seconds)
    print(f"Medians of {rounds} rounds of {seconds:g} s for each number of clients; CPU per ride.\n")
    measures = list(dict.fromkeys(measure for stage in stages for _, measure in stage.found))
    for count in counts:
        head(f"{count} clients", *(stage.name for stage in stages))
        for measure in measures:
            row(measure, *(median_text(stage.found.get((f"{count} clients", measure), [])) for stage in stages))
        print()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(drawn(stages, counts), encoding="utf-8")
    print(f"picture: {PICTURE.relative_to(ROOT)}")
    return [replace(each, name=f"{stage.name}, {each.name}") for stage in stages for each in stage.figures()]


if __name__ == "__main__":
    command(__doc__, main, 3, seconds=4.0, clients="32,64,128,256")
