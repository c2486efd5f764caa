"""Runs a command and turns its errors into a sentence and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable

from localstage.client.errors import ClientError


def exit_code_of(command: Callable[[], int]) -> int:
    """The result of ``command``; 1 after a :class:`ClientError`, whose message is printed, 130 after Ctrl-C."""
    try:
        return command()
    except ClientError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nheadrace: interrupted", file=sys.stderr)
        return 130
