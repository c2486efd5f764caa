"""Measures the CPU of single events by process, beside a bare publish: ``python -m bench.singles --beside CHECKOUT``.

Starts its own stage, with an echo function beside the platform's. Eight connections send messages in single frames and
in frames of 25, single rides and clicks by HTTP, and frames to the echo function. No user follows the rooms. The CPU of
a kind is that of the stage's processes from its first event until the last one is stored. The peer of one event is a
bare pika publish with confirm to the same broker, in this process; the peer of the rate is the echo function.

With ``--beside``, the stage of another checkout of this repository takes turns with this one's.
"""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import uvloop

from bench import ROOT
from bench.publish import Bare
from bench.rounds import Series, command, figure, head, ratio, row
from bench.singles.senders import KINDS, send
from loadtest.client.stage_process import SeparateStage, interruptible
from loadtest.client.stage_template import write_template
from loadtest.samples.processes import ProcessUsage

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
RECEIVING, PERSISTING, STAGE, OTHER = "receiving worker", "persisting worker", "stage", "other"
BOTH = "both workers"
NAMES = {
    "ReceiveFrame": RECEIVING,
    "ReceiveHttp": RECEIVING,
    "Echo": RECEIVING,
    "PersistEvents": PERSISTING,
    STAGE: STAGE,
    "RabbitMQ": "RabbitMQ",
    "DynamoDB emulator": "DynamoDB emulator",
}
"""The rows of the table by the name of a process; all other processes are ``OTHER``."""
PUBLISHES = 1000
SINGLES = ("message", "ride", "click")


class Side:
    """A stage of one checkout, and what it took: by row of the table and kind of event, a number per round."""

    def __init__(self, name: str, checkout: Path) -> None:
        self.name = name
        folder = STATE / name
        template = write_template(folder / "template", EDITS, {}, checkout)
        (template.parent / "functions" / "echo").mkdir()
        (template.parent / "functions" / "echo" / "app.py").write_text(ECHO)
        self.stage = SeparateStage(folder, "--template", str(template), checkout=checkout)
        self._folder = folder
        self._numbers = itertools.count()
        self.found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)

    def start(self) -> None:
        """Start the stage, and create what events need."""
        self.target = self.stage.start()
        self.target.http("singles", "events:write").post("/resorts/1/seasons", {"year": "2025"})
        url = next(each["url"] for each in self.stage.status()["services"] if each["name"].startswith("RabbitMQ"))
        known = json.loads(json.loads((self._folder / "secrets.json").read_text())["BrokerSecret"]["value"])
        self.bare = Bare(url, known["username"], known["password"])
        self.bare.declare("bench", json.dumps({"v": 1, "text": "x" * 400}).encode())

    def measure(self, kind: str, seconds: float) -> None:
        """Send events of a ``kind``, wait until they are stored, and add the numbers of this round."""
        usage, roots = ProcessUsage(), {self.stage.pid: STAGE}
        usage.take(roots)
        own = time.process_time()
        sent = uvloop.run(send(self.target, kind, self._numbers, seconds))
        own = time.process_time() - own
        cpu: defaultdict[str, float] = defaultdict(float)
        while True:
            time.sleep(1.0)
            used, _ = usage.take(roots)
            for name, spent in used.items():
                cpu[NAMES.get(name, OTHER)] += spent
            if not used.get("PersistEvents"):
                break
        cpu[BOTH] = cpu[RECEIVING] + cpu[PERSISTING]
        for name in (*dict.fromkeys(NAMES.values()), OTHER, BOTH):
            self.found[f"{name}, µs", kind].append(cpu[name] / sent.events * 1e6)
        self.found["generator, µs", kind].append(own / sent.events * 1e6)
        self.found["events/s", kind].append(sent.events / sent.seconds)
        for part in (50, 99):
            self.found[f"answer p{part}, ms", kind].append(sent.latencies[len(sent.latencies) * part // 100] * 1e3)

    def publish(self) -> None:
        """Add the CPU of a bare publish in this round."""
        began = time.process_time()
        for _ in range(PUBLISHES):
            self.bare.publish()
        self.found["bare publish, µs", "message"].append((time.process_time() - began) / PUBLISHES * 1e6)


def report(side: Side) -> list[Series]:
    """Print the table of a side; returns its numbers."""
    head(side.name, *KINDS)
    for name in dict.fromkeys(name for name, _ in side.found):
        row(name, *(_text(side.found.get((name, kind), [])) for kind in KINDS))
    rates = {kind: values for (name, kind), values in side.found.items() if name == "events/s"}
    bare, ratios = side.found["bare publish, µs", "message"], []
    for kind in [each for each in SINGLES if each in rates]:
        both = side.found[f"{BOTH}, µs", kind]
        ratios.append(ratio(f"{kind}, CPU of both workers against a bare publish", both, bare, "lower"))
    if {"message", "echo"} <= rates.keys():
        ratios.append(
            ratio("message, rate against frames to an echo function", rates["message"], rates["echo"], "higher")
        )
    print("\n" + "\n".join(f"{each.name}: {each.median:.2f}×" for each in ratios) + "\n")
    figures = [figure(f"{kind}: {name}", values, "") for (name, kind), values in side.found.items()]
    return [*ratios, *figures]


def _text(values: list[float]) -> str:
    return f"{statistics.median(values):,.{0 if statistics.median(values) >= 100 else 1}f}" if values else ""


def compare(ours: Side, theirs: Side) -> None:
    """Print the medians of the ratios of both sides."""
    head(f"{ours.name} / {theirs.name}", *KINDS)
    for name in dict.fromkeys(name for name, _ in ours.found):
        cells = []
        for kind in KINDS:
            pairs = zip(ours.found.get((name, kind), []), theirs.found.get((name, kind), []), strict=True)
            found = [our / their for our, their in pairs if their]
            cells.append(f"{statistics.median(found):.2f}×" if found else "")
        row(name, *cells)


def main(rounds: int, seconds: float, beside: str, kinds: str) -> list[Series]:
    sides = [Side("here", ROOT), *([Side("beside", Path(beside).resolve())] if beside else [])]
    with interruptible(), ExitStack() as stack:
        for side in sides:
            stack.callback(side.stage.close)
            side.start()
        for number in range(rounds + 1):
            for kind in kinds.split(",") if kinds else KINDS:
                for side in sides if number % 2 else sides[::-1]:
                    side.measure(kind, seconds)
            for side in sides:
                side.publish()
                if not number:  # the first round warms up
                    side.found.clear()
    print(
        f"Medians of {rounds} rounds of {seconds:g} s for each kind; eight connections, no followers; CPU per event.\n"
    )
    found = [report(side) for side in sides]
    if beside:
        compare(*sides)
    return found[0]


if __name__ == "__main__":
    command(__doc__, main, 5, seconds=4.0, beside="", kinds="")
