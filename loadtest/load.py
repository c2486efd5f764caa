"""Both load runs in one command: frames of 25, then single frames, each in a separate Locust process.

``python -m loadtest.load [--messages N] [--singles N] [--connections N]``

Uses the stage that runs here, or starts one. The exit code is 0 only if neither run lost an event.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from loadtest.client.command import exit_code_of
from loadtest.client.stage_process import stage
from loadtest.client.target import Target
from localstage.client.running_stage import ROOT

LOCUSTFILE = Path(__file__).with_name("locustfile.py")


def phase(target: Target, user: str, messages: int, connections: int) -> tuple[list[str], dict[str, str]]:
    """The command of a Locust process, and its environment."""
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--headless", "--loglevel", "ERROR"]
    command += ["--only-summary", "--reset-stats", "--stop-timeout", "30"]
    command += ["--messages", str(messages), "--connections", str(connections)]
    command += ["--http-url", target.http_url, "--websocket-url", target.websocket_url, user]
    # The token URL contains a secret, and other users of the machine see a process's arguments.
    return command, {**os.environ, "PYTHONPATH": str(ROOT), "TOKEN_URL": target.token_url}


def run_phase(target: Target, user: str, messages: int, connections: int) -> int:
    """Run a Locust process and return its exit code."""
    command, environment = phase(target, user, messages, connections)
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.load", description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=50_000, help="messages in frames of 25 (default 50,000)")
    parser.add_argument("--singles", type=int, help="messages in single frames (default: a fifth of --messages)")
    parser.add_argument("--connections", type=int, default=64)
    parsed = parser.parse_args(arguments)
    singles = parsed.singles or max(1, parsed.messages // 5)

    def run() -> int:
        with stage(print) as (target, _):
            frames = run_phase(target, "FrameUser", parsed.messages, parsed.connections)
            print()
            return run_phase(target, "SingleUser", singles, parsed.connections) or frames

    return exit_code_of(run)


if __name__ == "__main__":
    sys.exit(main())
