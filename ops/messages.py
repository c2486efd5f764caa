"""Errors of the commands, as one line for the person at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from headrace_client.cli.doctor_stage import CannotTell, Failed
from headrace_client.cli.show import visible
from localstage.client.errors import ClientError
from localstage.core.errors import StageError


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Print an error of the platform's tools and exit with 1; others are raised."""
    try:
        yield
    except (ClientError, StageError, CannotTell, Failed) as error:
        sys.exit(f"headrace: {visible(error, lines=True)}")
