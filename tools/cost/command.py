"""The options that commands about a stage and its load share."""

from __future__ import annotations

from functools import partial

from loadtest.client.command import Parser, between, positive


def load_parser(prog: str, description: str | None, rate: float, stage: str) -> Parser:
    """A parser with the load and the stage, and their defaults."""
    made = Parser(prog=prog, description=description)
    add = made.add_argument
    add("--rate", type=positive, default=rate, help=f"events per second (default {rate:.0f})")
    add("--event-bytes", type=partial(between, 1, 5000), default=250, help="JSON of an event (default 250)")
    add("--batch", type=partial(between, 1, 500), default=25, help="events of a frame or request (default 25)")
    add("--config-env", default=stage, help=f"a section of samconfig.toml (default {stage})")
    return made
