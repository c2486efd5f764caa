"""The whole platform in one command: start a stage if none runs, replay chat messages, and show the result.

``python -m loadtest.demo [--stay] [--messages N] [--log GLOB [--nicks all]]``

``HTTP_URL`` and ``WS_URL`` name another stage; docs/how-to/load-test-a-stage.md says which variables name its tokens.
Without ``--stay`` the last line is the result of the check, and a stage that this command started is stopped. With
``--stay`` it always starts a stage, which stays up until Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import webbrowser
from collections.abc import Sequence

from rich.console import Console

from loadtest.chat import replay
from loadtest.client.command import Parser, exit_code_of
from loadtest.client.stage_process import StageProcess, stage
from loadtest.client.target import Target
from localstage.client.errors import ClientError, StageNotFound
from localstage.client.running_stage import running_stage

HOW_TO_USE = """
Read and write in a room, from another terminal in this folder:
  eval "$({folder}make -s env)"    # sets HEADRACE, WS and TOKEN
  curl -s $HEADRACE/rooms/lobby/messages -H "authorization: Bearer $TOKEN" -d '{{"message": "hello"}}'; echo
  curl -s "$HEADRACE/rooms/lobby/messages?limit=5" -H "authorization: Bearer $TOKEN"; echo
The same over a WebSocket (then type frames such as {{"action": "ping"}}):
  .venv/bin/wsdump $WS -s headrace.v1 "$TOKEN" -t '{{"action": "subscribe", "roomId": "lobby"}}'

The stage stays up until Ctrl-C.
  console        {stage.console_url}    # open it in a browser
  HTTP API       {stage.http_url}
  WebSocket API  {stage.websocket_url}
  API reference  {stage.status_url}docs
"""


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
    plan = replay.make_plan(arguments, one_token=named is not None and not named.issues)

    def echo(line: str) -> None:
        console.print(line, style="dim", markup=False, soft_wrap=True)

    with stage(echo, named) as (target, process):
        try:
            code, lines = replay.replay(plan, target, console, arguments.retry_timeout, arguments.nicks or "")
        finally:
            if process is not None:
                process.pass_on()  # also when it is interrupted: the stage may have said why it takes so long
        print(f"\n{lines}", flush=True)
        if arguments.stay and process is not None:
            _stay(process)
    return code


def _stay(process: StageProcess) -> None:
    """Keep the stage up and print its lines, until Ctrl-C."""
    try:
        process.check()
        found, folder = running_stage(), os.environ.get("LOCALSTAGE_STATE_DIR")
        if found is None:
            raise StageNotFound("the stage has ended")
        print(HOW_TO_USE.format(folder=f"LOCALSTAGE_STATE_DIR={folder} " if folder else "", stage=found), flush=True)
        if os.environ.get("OPEN"):
            webbrowser.open(found.console_url)
        while True:
            process.check()
            time.sleep(0.2)
    except KeyboardInterrupt:
        print("\nstopping the stage", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m loadtest.demo", description=__doc__.splitlines()[0])
    replay.add_arguments(parser)
    parser.add_argument("--stay", action="store_true", help="keep the stage up until Ctrl-C")
    parsed = parser.parse_args(arguments)
    return exit_code_of(lambda: run(parsed))


if __name__ == "__main__":
    sys.exit(main())
