"""The arguments of a command, and its exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import suppress

from localstage.client.errors import ClientError


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


def positive(text: str) -> float:
    """The number above 0 in an argument.

    Raises:
        argparse.ArgumentTypeError: it is something else.
    """
    with suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
