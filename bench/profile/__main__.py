"""Says where the CPU of a function goes: ``python -m bench.profile``.

For a frame, a batch from the broker and a page of history, py-spy samples a process that repeats the whole handler
against the stage's services. Printed are the three largest costs: the functions of Headrace below which most samples
are that have no other function of Headrace between. Only samples of threads that hold Python's lock count, which is the
CPU of Python. The flame graphs are in ``.local/profiles``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bench import ROOT
from bench.services import STATE, running
from localstage.services import Endpoints
from localstage.template.attributes import Attributes, Live
from localstage.template.loading import load
from localstage.template.provision import provision
from localstage.wiring import with_broker_credentials

FOLDER = ROOT / ".local" / "profiles"
FUNCTIONS = {"topology": "DeclareTopology", "batch": "PersistEvents", "frame": "ReceiveFrame", "page": "ReadRoom"}
"""By duty. The first one only prepares the others."""
SAMPLES = 400
"""A second."""
COSTS = 3
OWN = "(headrace/"
"""How the names of Headrace's frames continue after the function."""


async def environments(endpoints: Endpoints) -> dict[str, dict[str, str]]:
    """Create what the template declares; the variables of each duty's function."""
    host, _, port = endpoints.cache_endpoint.rpartition(":")
    urls = (endpoints.dynamodb_url, endpoints.sqs_url, endpoints.secrets_manager_url)
    live = Live(
        endpoints.amqp_url,
        host,
        int(port),
        "http://127.0.0.1:1",
        *urls,
        "",
        account=os.environ["AWS_ACCESS_KEY_ID"],
        broker_console_url=endpoints.broker_console_url,
    )
    model = with_broker_credentials(
        load(ROOT / "template.yaml", attributes=Attributes(live), state_dir=STATE), endpoints
    )
    await provision(model, live=live, base_environment=dict(os.environ))
    return {duty: dict(model.functions[name].environment) for duty, name in FUNCTIONS.items()}


def record(duty: str, variables: Mapping[str, str], kind: str, path: Path, seconds: float) -> float:
    """Sample a process that repeats the duty; returns the milliseconds of one repetition."""
    spy = Path(sys.executable).with_name("py-spy")
    options = ["--gil", "--rate", str(SAMPLES), "--format", kind, "--output", str(path)]
    # py-spy starts the process: on most systems, only a process's parent may read its memory.
    command = [str(spy), "record", *options, "--", sys.executable, "-m", "bench.profile.profiled", duty, str(seconds)]
    environment = {**os.environ, **variables, "PYTHONPATH": f"{ROOT / 'layers' / 'headrace'}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    took = [line for line in done.stdout.splitlines() if line.replace(".", "").isdigit()]
    if not took:
        raise SystemExit(f"{duty}: {done.stdout}{done.stderr[-4000:]}")
    return float(took[0])


def largest(path: Path) -> list[tuple[str, float]]:
    """The functions of Headrace with the largest own shares of the samples in ``path``."""
    found: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        functions = {each.partition(" ")[0] for each in frames}
        is_counted = functions >= {"repeat", "profiled"} or "_WorkItem.run" in functions
        if is_counted and "_find_and_load" not in functions:  # an import happens once
            own = [each for each in frames if OWN in each]
            found[own[-1].rpartition(":")[0] + ")" if own else "other"] += int(count)
    return [(name, count / found.total()) for name, count in found.most_common(COSTS)]


async def main(seconds: float) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    async with running() as endpoints:
        variables = await environments(endpoints)
        print("| | ms | three largest costs |\n| --- | --- | --- |")
        await asyncio.to_thread(record, "topology", variables["topology"], "raw", FOLDER / "topology.txt", 0)
        for duty in list(FUNCTIONS)[1:]:
            settings = variables[duty] | {"EVENT_RATE": "100000", "POWERTOOLS_METRICS_DISABLED": "true"}
            raw, graph = FOLDER / f"{duty}.txt", FOLDER / f"{duty}.svg"
            took = await asyncio.to_thread(record, duty, settings, "raw", raw, seconds)
            await asyncio.to_thread(record, duty, settings, "flamegraph", graph, seconds)
            costs = "; ".join(f"{name} {share:.0%}" for name, share in largest(raw))
            print(f"| {duty} | {took:.2f} | {costs} |", flush=True)
    print(f"\nflame graphs: {FOLDER.relative_to(ROOT)}/*.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    asyncio.run(main(options.seconds))
