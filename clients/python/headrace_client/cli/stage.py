"""The stage that a command uses."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from .. import Headrace, HeadraceError, Token
from .show import show_json, show_values, visible

ANSWER_SECONDS = 40.0
"""A slice of an operator's work takes up to 28 s."""


@dataclass(frozen=True)
class Stage:
    """The stage that a command uses, and how it shows answers."""

    http_url: str | None
    ws_url: str | None
    token: Token | None
    as_json: bool = False

    @contextlib.contextmanager
    def client(self) -> Iterator[Headrace]:
        """A client of the stage. Its errors end the command with one sentence."""
        url = given(self.http_url, "HEADRACE")
        token = self.token or given(None, "TOKEN")
        with one_sentence(), Headrace(url, token, answer_seconds=ANSWER_SECONDS) as client:
            yield client

    def show(self, answer: Any) -> None:
        """Print an answer of one object or number."""
        if self.as_json:
            show_json(answer)
        elif isinstance(answer, dict):
            show_values(answer)
        else:
            click.echo(visible(answer))


def given(value: str | None, variable: str) -> str:
    """``value``, or an error that says how to set the variable."""
    if not value:
        raise click.UsageError(f'{variable} is not set; for the local stage: eval "$(make -s env)"')
    return value


@contextlib.contextmanager
def one_sentence() -> Iterator[None]:
    """End the command with one sentence for an error of the client."""
    try:
        yield
    except (HeadraceError, ValueError) as error:
        sys.exit(f"headrace: {visible(error)}")
