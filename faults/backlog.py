"""``python -m faults.backlog``: rides of 128 and of 256 clients come faster than they are stored, twice.

Batches are small and each takes longer, as if the table had less capacity. The first run has no limit on the backlog
(``BacklogSeconds`` 0), the second one has. Each writes a load report; a page compares both, and a picture has the depth
of the queue over time. Exits with 1 if a run failed. Options of a load run come last, such as ``-- --paced`` for
clients that slow down after refusals.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import quantiles

from faults.harness.harness import Harness
from faults.proxies.proxy_faults import slower_writes
from loadtest import load
from loadtest.client.command import Parser, count, exit_code_of, positive
from loadtest.client.stage_process import interruptible
from loadtest.report.__main__ import compare
from loadtest.report.charts import charts
from loadtest.report.document import newest, read
from loadtest.report.plots import picture
from loadtest.samples.sampler import HELD
from loadtest.shapes.options import RESULTS
from localstage.client.function_logs import metrics
from localstage.client.running_stage import ROOT
from localstage.core.errors import StageError

SHAPE, STREAM = "backlog", "ski"
FOLDER, STATE = ROOT / RESULTS, ROOT / ".local" / "faults-backlog"
CHART = "Depth of the queues"
BATCH = [("          BatchSize: 200\n", "          BatchSize: 50\n")]


def run(limit: int, seconds: float, options: Sequence[str]) -> tuple[int, Path]:
    """Run the shape with a ``limit`` in seconds, and batches that take ``seconds`` longer: the exit code, and the JSON.

    Prints how long rides waited. ``options`` are those of a load run.

    Raises:
        localstage.core.errors.StageError, localstage.client.errors.ClientError: the stage did not start.
    """
    results = FOLDER / f"backlog-{limit}"
    shutil.rmtree(results, ignore_errors=True)
    with Harness(STATE, parameters={"BacklogSeconds": str(limit)}, edits=BATCH) as harness:
        harness.services.dynamodb.fault = slower_writes(seconds)
        parsed = load.parser().parse_args(["--shape", SHAPE, "--results", str(results), *options])
        code = load.run_locust(harness.target, parsed)
    path, waits = newest(results), waited(STATE / "stage" / "logs" / "PersistEvents.log")
    deepest = [phase["usage"].get("deepest", {}) for phase in read(path)["phases"]]
    most, held = (max(each.get(name, 0) for each in deepest) for name in ("main", HELD))
    middle, last = (quantiles(waits, n=100)[percent - 1] for percent in (50, 99))
    print(
        f"BacklogSeconds={limit}: from accepted to storing, oldest of each of {len(waits)} batches:"
        f" p50={middle:.1f}s p99={last:.1f}s; most in the queue: {most:,.0f}, unacknowledged: {held:,.0f}\n",
        flush=True,
    )
    return code, path


def waited(log: Path) -> list[float]:
    """How long the oldest ride of each batch had waited when it was stored, in seconds."""
    found = (each for text in log.read_text(encoding="utf-8").splitlines() for each in metrics(text))
    is_wait = (each for each in found if each.name == "WaitSeconds" and ("stream", STREAM) in each.dimensions)
    return [value for each in is_wait for value in each.values]


def drawn(runs: Mapping[str, Path]) -> str:
    """The depth of the queues of each run, as one SVG."""
    shown = [
        replace(chart, title=f"{chart.title}, {name}")
        for name, path in runs.items()
        for chart in charts(read(path))
        if chart.title == CHART
    ]
    return picture("Rides come faster than they are stored, without and with a limit on the backlog", shown)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m faults.backlog", description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=count, default=5, help="BacklogSeconds of the second run (default 5)")
    parser.add_argument("--slower", type=positive, default=0.5, help="seconds that a batch takes longer (default 0.5)")
    parser.add_argument("--picture", type=Path, default=FOLDER / "backlog.svg", help="the SVG (default %(default)s)")
    parser.add_argument("options", nargs="*", help="options of a load run, after --")
    parsed = parser.parse_args(arguments)

    def both() -> int:
        os.environ["LOCALSTAGE_STATE_DIR"] = str(STATE / "stage")  # where samples of a load run look for the stage
        code, without = run(0, parsed.slower, parsed.options)
        other_code, limited = run(parsed.limit, parsed.slower, parsed.options)
        print(f"report: {compare(without, limited)}")
        runs = {"no limit": without, f"limit {parsed.limit} s": limited}
        parsed.picture.write_text(drawn(runs), encoding="utf-8")
        print(f"picture: {parsed.picture}")
        return code or other_code

    with interruptible():
        return exit_code_of(both, StageError, OSError)


if __name__ == "__main__":
    sys.exit(main())
