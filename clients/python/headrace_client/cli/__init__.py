"""The command line ``headrace``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, if the packages that it needs are installed."""
    try:
        from .commands import cli
    except ModuleNotFoundError as error:
        sys.exit(f"headrace: {error.name} is missing; install the package as headrace-client[cli]")
    cli(prog_name="headrace")
