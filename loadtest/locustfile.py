"""``locust -f loadtest/locustfile.py --headless FrameUser`` (or ``SingleUser``) against a running stage.

``MESSAGES`` (default 50,000) and ``CONNECTIONS`` (64) are environment variables, or the options ``--messages`` and
``--connections``. The run stops when all messages are sent, reads everything back, and its exit code is 0 only if
nothing was lost. Both kinds one after the other: ``python -m loadtest.load``.
"""

from __future__ import annotations

from typing import Any

from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

from loadtest.chat.load_run import Run
from loadtest.chat.locust_users import RUN, FrameUser, SingleUser
from loadtest.client.target import Target

__all__ = ["FrameUser", "SingleUser"]


@events.init_command_line_parser.add_listener
def _arguments(parser: LocustArgumentParser) -> None:
    parser.add_argument("--messages", type=int, default=50_000, env_var="MESSAGES", help="how many messages to send")
    parser.add_argument("--connections", type=int, default=64, env_var="CONNECTIONS", help="how many WebSockets")
    parser.add_argument("--http-url", env_var="HTTP_URL", help="default: the local stage that runs here")
    parser.add_argument("--websocket-url", env_var="WEBSOCKET_URL")
    parser.add_argument("--token-url", env_var="TOKEN_URL")


@events.init.add_listener
def _prepare(environment: Environment, **_: Any) -> None:
    options = environment.parsed_options
    options.num_users = options.spawn_rate = options.connections
    stage = Target.find(options.http_url, options.websocket_url, options.token_url)
    setattr(environment, RUN, Run(stage, options.messages, options.connections))
    environment.process_exit_code = 1  # until the result is known


@events.test_stop.add_listener
def _print_report(environment: Environment, **_: Any) -> None:
    kinds = {user.frame for user in environment.user_classes}
    title = " and ".join("single frames" if frame == 1 else f"frames of {frame}" for frame in sorted(kinds))
    run: Run = getattr(environment, RUN)
    print(f"{title}: all sent, reading back", flush=True)
    report = run.report(title)
    environment.process_exit_code = report.exit_code
    # After Locust's own tables, so that the result is printed last.
    events.quit.add_listener(lambda **_: print(report.text, flush=True))
