"""Runs benchmarks, each beside its peer or limit, and compares their ratios: ``python -m bench.suite [--check]``.

Each benchmark is a process, which prints its table. The numbers of every round go to a file of ``.local/bench``, or to
``--run FILE``. With ``--check``, the ratios are compared with those of ``bench/ratios.json``; if the file exists,
nothing is measured. A ratio is worse if its median is over 10% worse, and its interquartile interval lies wholly on the
worse side of the committed one. Times are not compared: they depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.picture import draw
from bench.rounds import Series
from loadtest.client.command import Parser, count, exit_code_of
from loadtest.client.stage_process import interruptible

LOADS = ",".join(f"{subscribers}x{rate}" for subscribers in (100, 10, 1) for rate in (5, 10, 50, 200))
BENCHES = {
    "publish": "publish",
    "persist": "persist",
    "history": "history",
    "analytics": "analytics --sizes 50000 --day 0",
    "singles": "singles --seconds 2",
    "durable": "durable --seconds 6",
    "live": "live",
    "hops": f"live.hops --connections 100 --seconds 3 --loads {LOADS}",
    "declared": "analytics.declared",
    "cold": "cold",
}
"""Modules of this package with arguments, by the name of the benchmark. Sizes are such that all take about twenty
minutes together, and ``hops`` half of it."""
LIMIT = 900.0
"""Seconds that a benchmark may take."""
COMMITTED = ROOT / "bench" / "ratios.json"
NOISE = 0.10


def commit() -> str:
    """The short commit, with ``-dirty`` if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def facts() -> dict[str, Any]:
    """The machine and what else it does."""
    load = round(os.getloadavg()[0], 2)
    return {"cores": os.cpu_count(), "python": platform.python_version(), "load": load}


def run(command: str, rounds: int, arguments: Sequence[str], path: Path) -> str:
    """Run a benchmark, which writes its numbers to ``path``; returns why it failed, or nothing.

    Ctrl-C reaches it as SIGINT, once.
    """
    words = [*shlex.split(command), *arguments, "--rounds", str(rounds), "--json", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers" / "headrace")}
    command_line = [sys.executable, "-m", f"bench.{words[0]}", *words[1:]]
    process = subprocess.Popen(command_line, cwd=ROOT, env=environment, start_new_session=True)
    try:
        code = process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        return f"it took over {LIMIT:.0f} s"
    finally:
        if process.poll() is None:  # it may have services to stop
            process.send_signal(signal.SIGINT)
            process.wait(60)
    return "" if path.exists() else f"exit code {code}"


def measure(names: Sequence[str], rounds: int, arguments: Sequence[str], path: Path) -> list[str]:
    """Run benchmarks, and write each one's numbers into the file ``path`` when it has ended; returns those that failed.

    The numbers of other benchmarks in the file stay.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {"machine": facts(), "benches": benches_of(path) if path.exists() else {}}
    failed = []
    for number, name in enumerate(names, 1):
        print(f"\n{number} of {len(names)}  {name}", flush=True)
        part = path.with_suffix(f".{name}")
        about = {"commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}", "rounds": rounds, **facts()}
        if error := run(BENCHES[name], rounds, arguments, part):
            print(f"{name} FAILED: {error}", flush=True)
            failed.append(name)
            continue
        result["benches"][name] = {**about, "series": json.loads(part.read_text(encoding="utf-8"))}
        for each in result["benches"][name]["series"]:
            if each["name"] == "bare publish":  # what docs/benchmarks.md says of a run
                bare = Series.of_message(each).median
                print(f"{about['date']}, `{about['commit']}`, bare publish {bare:.2f} ms", flush=True)
        part.unlink()
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return failed


def benches_of(path: Path) -> dict[str, Any]:
    """The benchmarks of a file.

    Raises:
        ValueError: the file is no result of a run.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["benches"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not the result of make bench") from None
    return found


def ratios_of(benches: Mapping[str, Any]) -> dict[str, Any]:
    """The ratios of each benchmark as they are committed: better, median, and the quartiles low and high."""
    return {
        name: {
            **{key: bench[key] for key in ("commit", "date", "rounds")},
            "ratios": {each.name: each.summary() for each in map(Series.of_message, bench["series"]) if each.better},
        }
        for name, bench in benches.items()
    }


def is_worse(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the ratio ``one`` is worse than ``other`` beyond the noise."""
    large, small = (one, other) if one["better"] == "lower" else (other, one)
    return bool(large["median"] > (1 + NOISE) * small["median"] and large["low"] > small["high"])


def compare(committed: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A verdict and a text for each ratio of the benchmarks that ran.

    The verdict is ``worse``, ``missing``, ``better``, ``new`` or ``same``.
    """
    found = []
    for bench, about in now.items():
        before = committed.get(bench, {"ratios": {}})["ratios"]
        found += [("missing", f"{bench}: {name}") for name in before if name not in about["ratios"]]
        for name, ratio in about["ratios"].items():
            old = before.get(name)
            if old is None:
                found.append(("new", f"{bench}: {name}: {_text(ratio)}"))
                continue
            verdict = "worse" if is_worse(ratio, old) else "better" if is_worse(old, ratio) else "same"
            found.append((verdict, f"{bench}: {name}: {_text(old)}, now {_text(ratio)}; {ratio['better']} is better"))
    return found


def _text(ratio: Mapping[str, Any]) -> str:
    return f"{ratio['median']:g}× ({ratio['low']:g} to {ratio['high']:g})"


def check(benches: Mapping[str, Any], *, accept: bool) -> bool:
    """Print the ratios that changed; returns whether none got worse. With ``accept``, the ratios are committed."""
    committed: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
    now = ratios_of(benches)
    found = compare(committed, now)
    print("\n".join(f"{verdict:8}{text}" for verdict, text in found if verdict != "same"))
    print(f"{len(found)} ratios, {sum(verdict == 'same' for verdict, _ in found)} within the noise")
    if accept:
        text = json.dumps({**committed, **now}, indent=1, ensure_ascii=False, sort_keys=True)
        COMMITTED.write_text(text + "\n", encoding="utf-8")
    return accept or not any(verdict in ("worse", "missing") for verdict, _ in found)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if a benchmark failed or, with ``--check``, a ratio got worse."""
    parser = Parser(prog="python -m bench.suite", description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="", help=f"of {', '.join(BENCHES)}, separated by commas (default: all)")
    parser.add_argument("--rounds", type=count, default=5, help="rounds per number (default 5)")
    parser.add_argument("--run", type=Path, help="the file of the numbers")
    parser.add_argument("--check", action="store_true", help="compare the ratios with the committed ones")
    parser.add_argument("--accept", action="store_true", help="write the ratios as the committed ones")
    parser.add_argument("--picture", type=Path, help="draw the committed ratios as an SVG, and measure nothing")
    parser.add_argument("arguments", nargs="*", help="arguments of the benchmark, after --")
    options = parser.parse_args(arguments)
    with interruptible():
        return exit_code_of(lambda: command(options), ValueError)


def command(options: argparse.Namespace) -> int:
    """Measure, unless there is a file to check; then compare.

    Raises:
        ValueError: an option has a wrong value.
    """
    if options.picture:
        options.picture.write_text(draw(json.loads(COMMITTED.read_text(encoding="utf-8"))), encoding="utf-8")
        print(f"picture: {options.picture}")
        return 0
    wanted = [name.strip() for name in options.bench.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - BENCHES.keys()):
        raise ValueError(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    names = [name for name in BENCHES if name in wanted or not wanted]
    path = options.run or ROOT / ".local" / "bench" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{commit()}.json"
    failed = []
    if not (options.check and path.exists()):
        failed = measure(names, max(1, options.rounds), options.arguments, path)
        print(f"\n{path}")
    is_good = not options.check or check(
        {name: bench for name, bench in benches_of(path).items() if name in names}, accept=options.accept
    )
    return 0 if is_good and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
