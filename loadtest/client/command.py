"""Runs a command; its errors become a message and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable

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
