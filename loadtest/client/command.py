"""The arguments of a command, its errors, and its exit code."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from localstage.client.errors import ClientError
from localstage.client.make import knows_variables, variable_of

RETRY_TIMEOUT = 600.0
"""The default of the option after which a sender gives up: so many seconds without an accepted event."""


class Parser(argparse.ArgumentParser):
    """A parser that names make's variables when make runs the command, and not the options behind them."""

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, and exit with 2."""
        if not knows_variables():
            super().error(message)
        named = re.sub(r"argument --([a-z-]+)", lambda match: variable_of(match[1]), message)
        self.exit(2, f"headrace: {named}\n")


def exit_code_of(command: Callable[[], int], *errors: type[Exception]) -> int:
    """The result of ``command``; 1 after a :class:`ClientError` or one of ``errors``, and 130 after Ctrl-C.

    The message of an error is printed.
    """
    expected: tuple[type[Exception], ...] = (ClientError, *errors)
    try:
        return command()
    except expected as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nheadrace: interrupted", file=sys.stderr)
        return 130


def count(text: str) -> int:
    """The whole number from 1 in an argument.

    Raises:
        argparse.ArgumentTypeError: it is something else.
    """
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")


def between(least: int, most: int, text: str) -> int:
    """The whole number from ``least`` to ``most`` in an argument.

    Raises:
        argparse.ArgumentTypeError: it is something else.
    """
    if text.isdecimal() and least <= int(text) <= most:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")


def positive(text: str) -> float:
    """The number above 0 in an argument.

    Raises:
        argparse.ArgumentTypeError: it is something else.
    """
    with suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
