"""The command line ``headrace``."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line, if the packages that it needs are installed."""
    try:
        from .commands import cli
        from .show import printing
    except ModuleNotFoundError as error:
        sys.exit(f"headrace: {error.name} is missing; install the package as headrace-client[cli]")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # of another encoding, as on Windows
    with printing():
        cli(prog_name="headrace")
