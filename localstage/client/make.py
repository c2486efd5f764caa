"""Errors of commands that make runs: they name make's variables, and not the options behind them."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

VARIABLES = {"processes": "WORKERS", "requests": "CSV", "config-env": "STAGE_ENV"}
"""Options that have another name as a variable of make."""


def knows_variables() -> bool:
    """Whether the person gave variables of make only, and no option in ARGS."""
    return "MAKELEVEL" in os.environ and not os.environ.get("ARGS")


def variable_of(option: str) -> str:
    """The variable of make behind an option, such as MESSAGES."""
    return VARIABLES.get(option) or option.upper().replace("-", "_")


class Commands(click.Group):
    """A group of commands. When make runs one, an error of an argument is one sentence with make's variable."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command that was given."""
        try:
            return super().invoke(context)
        except click.BadParameter as error:
            if error.param is None or not knows_variables():
                raise
            variable = variable_of(error.param.opts[0].lstrip("-"))
            sentence = "is missing" if isinstance(error, click.MissingParameter) else error.message.rstrip(".")
            print(f"headrace: {variable}: {sentence}", file=sys.stderr)
            context.exit(2)
