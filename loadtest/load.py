"""A load run in one command: starts a stage if none runs and no URLs are given, sends, reads back, and checks.

``python -m loadtest.load [--shape baseline] [--scale 0.01] [--processes 2] [--web]``

``HTTP_URL`` and ``WS_URL`` name another stage; docs/how-to/load-test-a-stage.md says which variables name its tokens.
The exit code is 0 only if nothing was lost. Ctrl-C writes the result of what happened so far.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadtest.client.command import Parser, count, exit_code_of
from loadtest.client.stage_process import handling, stage
from loadtest.client.target import Target
from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.options import add_options, arguments_of, shape_of
from localstage.client.running_stage import ROOT

LOCUSTFILE = Path(__file__).with_name("locustfile.py")


def locust_command(target: Target, options: Any) -> tuple[list[str], dict[str, str]]:
    """The command of the Locust process, and its environment."""
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--loglevel", "ERROR"]
    command += ["--web-host", "127.0.0.1"] if options.web else ["--headless", "--only-summary"]
    command += ["--processes", str(options.processes)] if options.processes else []
    command += ["--http-url", target.http_url, "--websocket-url", target.websocket_url, *arguments_of(options)]
    return command, target.environment() | {"PYTHONPATH": str(ROOT)}


def run_locust(target: Target, options: Any) -> int:
    """Run Locust and return its exit code. Ctrl-C goes to Locust, which writes the result so far. The second kills."""
    command, environment = locust_command(target, options)
    # In a separate session, so that a Ctrl-C in the terminal reaches it once.
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    received: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        received.append(number)
        if len(received) > 1:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.send_signal(signal.SIGINT)

    with handling(pass_on):
        return abs(process.wait())


def parser() -> argparse.ArgumentParser:
    """The command's parser."""
    made = Parser(prog="python -m loadtest.load", description=__doc__.splitlines()[0])
    add_options(made, sorted(SHAPES))
    made.add_argument("--processes", type=count, help="distribute over so many worker processes")
    made.add_argument("--web", action="store_true", help="start from Locust's web UI, at http://127.0.0.1:8089")
    made.add_argument("--list", action="store_true", help="print all shapes")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parsed = parser().parse_args(arguments)
    if parsed.list:
        print("\n".join(f"{shape.name:<10} {shape.description}" for shape in SHAPES.values()))
        return 0

    def run() -> int:
        shape_of(parsed)  # a wrong option is an error before a stage starts
        named = Target.named(
            parsed.http_url or os.environ.get("HTTP_URL"), parsed.websocket_url or os.environ.get("WS_URL")
        )
        with stage(print, named) as (target, _):
            return run_locust(target, parsed)

    return exit_code_of(run)


if __name__ == "__main__":
    sys.exit(main())
