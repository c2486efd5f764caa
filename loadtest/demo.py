"""The whole platform in one command: start a stage if none runs, send events to it, and show the result.

``python -m loadtest.demo [--stay] [--messages N] [--log GLOB [--nicks all]]``
``python -m loadtest.demo [--stay] --stream ski [--rides N]``
``python -m loadtest.demo [--stay] --stream ads [--seconds N]``

``HTTP_URL`` and ``WS_URL`` name another stage; docs/how-to/load-test-a-stage.md says which variables name its tokens.
Without ``--stay`` the last line is the result of the check, and a stage that this command started is stopped. With
``--stay`` it always starts a stage, which stays up until Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence

from rich.console import Console

from loadtest import load
from loadtest.chat import display, replay
from loadtest.client.command import count, exit_code_of
from loadtest.client.stage_process import StageProcess, stage
from loadtest.client.target import Target
from localstage.client.errors import ClientError

HOW_TO_USE = """
The stage stays up until Ctrl-C.
  HTTP API       {http_url}
  WebSocket API  {websocket_url}

Read and write in a room, from another terminal in this folder:
  TOKEN=$(make -s token USER_ID=alice)
  curl -s -H "Authorization: Bearer $TOKEN" -d '{{"message":"hello"}}' {http_url}/rooms/lobby/messages
  curl -s -H "Authorization: Bearer $TOKEN" '{http_url}/rooms/lobby/messages?limit=5'
The same over a WebSocket (then type frames such as {{"action":"ping"}}):
  .venv/bin/wsdump {websocket_url} --subprotocols headrace.v1 $TOKEN --text \\
    '{{"action":"sendMessage","roomId":"lobby","message":"hello"}}'
"""

Demo = Callable[[Console, Target, bool], tuple[int, str]]
"""Runs the demo of a stream at a target; returns the exit code and the last lines. The flag is ``--stay``."""


def run(arguments: argparse.Namespace) -> int:
    """Start a stage if needed, run the demo, and stay or stop; return the exit code.

    Raises:
        ClientError: the message is for the user.
    """
    console = Console(highlight=False)
    named = Target.named(os.environ.get("HTTP_URL"), os.environ.get("WS_URL"))
    if arguments.stay and named:
        raise ClientError("make run starts a stage here; use HTTP_URL and WS_URL with `make demo`")
    if arguments.stay and (running := Target.running()):
        raise ClientError(f"a stage runs here already, at {running.http_url}; use it with `make demo`, or stop it")
    demo = DEMOS[arguments.stream](arguments, named is not None and not named.issues)

    def echo(line: str) -> None:
        console.print(line, style="dim", markup=False, soft_wrap=True)

    with stage(echo, named) as (target, process):
        staying = arguments.stay and process is not None
        exit_code, last_lines = demo(console, target, staying)
        if last_lines:
            print(f"\n{last_lines}", flush=True)
        if staying and process is not None:
            _stay(target, process)
    return exit_code


def _chat(arguments: argparse.Namespace, one_token: bool) -> Demo:
    plan = replay.make_plan(arguments, one_token=one_token)

    def demo(console: Console, target: Target, staying: bool) -> tuple[int, str]:
        outcome = replay.replay(plan, target, console, arguments.nicks or "")
        if staying:
            display.activity(console, target.reader("analytics:read"), plan)
        return outcome.exit_code, outcome.lines()

    return demo


def _load(shape: str, size: str) -> Callable[[argparse.Namespace, bool], Demo]:
    """Runs a shape of load with the option ``size``, if it is given."""

    def plan(arguments: argparse.Namespace, _one_token: bool) -> Demo:
        value = getattr(arguments, size)
        option = {"rides": "--messages"}.get(size, f"--{size}")
        given = load.parser().parse_args(["--shape", shape, *((option, str(value)) if value else ())])
        return lambda _console, target, _staying: (load.run_locust(target, given), "")

    return plan


DEMOS: dict[str, Callable[[argparse.Namespace, bool], Demo]] = {
    "chat": _chat,
    "ski": _load("rides", "rides"),
    "ads": _load("clicks", "seconds"),
}
"""The demo of each stream. The flag is whether all users share a producer's token."""
OPTIONS = {"chat": ("messages", "log", "nicks"), "ski": ("rides",), "ads": ("seconds",)}
"""The options that only one stream has."""


def _stay(target: Target, process: StageProcess) -> None:
    """Keep the stage up and print its lines, until Ctrl-C."""
    try:
        process.check()  # its lines from before come before the help
        print(HOW_TO_USE.format(http_url=target.http_url, websocket_url=target.websocket_url), flush=True)
        while True:
            process.check()
            time.sleep(0.2)
    except KeyboardInterrupt:
        print("\nstopping the stage", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.demo", description=__doc__.splitlines()[0])
    replay.add_arguments(parser)
    parser.add_argument("--stream", choices=sorted(DEMOS), default="chat", help="stream of the events (default chat)")
    parser.add_argument("--rides", type=count, help="number of rides of --stream ski (default 20,000)")
    parser.add_argument("--seconds", type=count, help="seconds of 1,000 clicks/s of --stream ads (default 60)")
    parser.add_argument("--stay", action="store_true", help="keep the stage up until Ctrl-C")
    parsed = parser.parse_args(arguments)
    for stream, options in OPTIONS.items():
        if stream != parsed.stream and (given := [name for name in options if getattr(parsed, name)]):
            parser.error(f"--{given[0]} is of --stream {stream}, and the stream is {parsed.stream}")
    return exit_code_of(lambda: run(parsed))


if __name__ == "__main__":
    sys.exit(main())
