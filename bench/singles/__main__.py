"""Measures the CPU of single events by process, beside a bare publish: ``python -m bench.singles --beside CHECKOUT``.

Starts its own stage, with an echo function beside the platform's. Eight connections send messages in single frames and
in frames of 25, single rides and clicks by HTTP, and frames to the echo function; 64 tasks share one Python client, and
each sends one message at a time. No user follows the rooms. The CPU of a kind is that of the stage's processes from its
first event until the last one is stored. The peer of one event is a bare pika publish with confirm to the same broker,
in this process; the peer of the rate is the echo function.

With ``--kinds task``, one task sends 10 messages a second with the Python client, and 10 past its gathering, in turn.

With ``--beside``, the stage of another checkout of this repository takes turns with this one's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uvloop

from bench import ROOT
from bench.publish import Bare
from bench.rounds import Series, command, head, median_text, percentile, ratio, ratio_text, row
from bench.singles.senders import KINDS, send, single_task
from bench.stages import COMPONENTS, OTHER, PERSISTING, RECEIVING, Stage, in_turns
from loadtest.client.stage_template import write_template

STATE = ROOT / ".local" / "bench-singles"
ECHO = """
def handler(event, _context):
    return {"statusCode": 200, "body": event["body"]}
"""
ROUTES = """      Routes:
        echo: {FunctionArn: !GetAtt Echo.Arn, RouteResponseSelectionExpression: $default}
"""
FUNCTIONS = """
  Echo:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: functions/echo/, DeploymentPreference: {Enabled: false}}

  EchoAnswer:
    Type: AWS::ApiGatewayV2::RouteResponse
    Properties: {ApiId: !Ref WebSocketApi, RouteId: !Ref WebSocketApiEchoRoute, RouteResponseKey: $default}

  # Functions. All log to one group.
"""
EDITS = [("      Routes:\n", ROUTES), ("\n  # Functions. All log to one group.\n", FUNCTIONS)]
"""Edits of the template that add an echo function."""
BOTH, RATE = "both workers", "events/s"
BARE, PUBLISHES = "bare publish, µs", 1000
SINGLES = ("message", "ride", "click")
TASK, TASK_RATE = "task", 10.0
GATHERED, NOT_GATHERED = "a task that is gathered", "a task that is not"


class Side(Stage):
    """A stage with an echo function. Its measures are the rows of the table, by kind of event."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        template = write_template(folder / "template", EDITS, {}, checkout)
        (template.parent / "functions" / "echo").mkdir()
        (template.parent / "functions" / "echo" / "app.py").write_text(ECHO)
        super().__init__(folder, "--template", str(template), checkout=checkout)

    def start(self) -> None:
        """Start the stage, and create what events need."""
        super().start()
        self.target.http("singles", "events:write").post("/resorts/1/seasons", {"year": "2025"})
        self.bare = Bare(self.broker())
        self.bare.declare("bench", json.dumps({"v": 1, "text": "x" * 400}).encode())

    def measure(self, kind: str, seconds: float) -> None:
        """Send events of a ``kind``, wait until they are stored, and add the numbers of this round."""
        self.cpu()
        own = time.process_time()
        sent = uvloop.run(send(self.target, KINDS[kind], self.numbers, seconds))
        own = time.process_time() - own
        cpu = self.cpu_until_stored()
        cpu[BOTH] = cpu[RECEIVING] + cpu[PERSISTING]
        for name in (*dict.fromkeys(COMPONENTS.values()), OTHER, BOTH):
            self.found[kind, f"{name}, µs"].append(cpu[name] / sent.events * 1e6)
        self.found[kind, "generator, µs"].append(own / sent.events * 1e6)
        self.found[kind, RATE].append(sent.events / sent.seconds)
        for part in (50, 99):
            self.found[kind, f"answer p{part}, ms"].append(percentile(sent.latencies, part) * 1e3)

    def task(self, seconds: float) -> None:
        """Add how soon one task has its answers in this round, gathered and not."""
        both = uvloop.run(single_task(self.target, self.numbers, seconds, TASK_RATE))
        for part in (50, 99):
            for name, latencies in zip((GATHERED, NOT_GATHERED), both, strict=True):
                self.found[name, f"answer p{part}, ms"].append(percentile(latencies, part) * 1e3)

    def publish(self) -> None:
        """Add the CPU of a bare publish in this round."""
        began = time.process_time()
        for _ in range(PUBLISHES):
            self.bare.publish()
        self.found["message", BARE].append((time.process_time() - began) / PUBLISHES * 1e6)


def report(side: Side) -> list[Series]:
    """Print the table of a side; returns its numbers."""
    kinds = dict.fromkeys(kind for kind, _ in side.found)
    head(side.name, *kinds)
    for name in dict.fromkeys(name for _, name in side.found):
        row(name, *(median_text(side.found.get((kind, name), [])) for kind in kinds))
    found, bare = [], side.found["message", BARE]
    for kind in [each for each in SINGLES if (each, RATE) in side.found]:
        both = side.found[kind, f"{BOTH}, µs"]
        found.append(ratio(f"{kind}, CPU of both workers against a bare publish", both, bare, "lower"))
        if echo := side.found["echo", f"{RECEIVING}, µs"]:
            floor = [sum(each) for each in zip(echo, bare, strict=True)]
            name = f"{kind}, CPU of the receiving worker against an echo function and a bare publish"
            found.append(ratio(name, side.found[kind, f"{RECEIVING}, µs"], floor, "lower"))
    if side.found.keys() >= {("message", RATE), ("echo", RATE)}:
        message, echo = (side.found[kind, RATE] for kind in ("message", "echo"))
        found.append(ratio("message, rate against frames to an echo function", message, echo, "higher"))
    for measure in [measure for kind, measure in side.found if kind == GATHERED]:
        gathered, not_gathered = side.found[GATHERED, measure], side.found[NOT_GATHERED, measure]
        found.append(ratio(f"a task, {measure}, gathered against not gathered", gathered, not_gathered, "lower"))
    for each in found:
        low, high = each.quartiles
        print(f"{each.name}: {each.median:.2f}× ({low:.2f} to {high:.2f})")
    return [*found, *side.figures()]


def compare(ours: Side, theirs: Side) -> None:
    """Print the medians of the ratios of both sides."""
    head(f"{ours.name} / {theirs.name}", *KINDS)
    for name in dict.fromkeys(name for _, name in ours.found):
        row(name, *(ratio_text(*(side.found.get((kind, name), []) for side in (ours, theirs))) for kind in KINDS))


def main(rounds: int, seconds: float, beside: str, kinds: str) -> list[Series]:
    wanted = kinds.split(",") if kinds else KINDS
    steps: list[Callable[[Side], None]] = [partial(Side.task, seconds=seconds)] if TASK in wanted else []
    steps += [partial(Side.measure, kind=kind, seconds=seconds) for kind in wanted if kind != TASK]
    stages = in_turns(Side, STATE, beside, rounds, *steps, Side.publish)
    print(
        f"Medians of {rounds} rounds of {seconds:g} s for each kind; eight connections, no followers; CPU per event.\n"
    )
    found = [report(side) for side in stages]
    if beside:
        compare(*stages)
    return found[0]


if __name__ == "__main__":
    command(__doc__, main, 5, seconds=4.0, beside="", kinds="")
