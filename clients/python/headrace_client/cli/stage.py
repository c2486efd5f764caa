"""The stage that a command uses."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import click

from .. import Headrace, HeadraceError, Refused, SendSettings, Sent, Token, Unreachable
from ..errors import explained
from ..oauth import Renewed
from .profiles import Profile
from .show import show_json, show_rows, show_values, visible

ANSWER_SECONDS = 40.0
"""A slice of an operator's work takes up to 28 s."""
WITHOUT_REASON = ("Unauthorized", "Forbidden", "the token is not accepted")
"""What API Gateway says of a token that it refuses, and the client of a refused connection."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Stage:
    """The stage that a command uses, and how it shows answers."""

    http_url: str | None
    ws_url: str | None
    token: Token | None
    as_json: bool = False
    profile: Profile | None = None
    settings: SendSettings = field(default_factory=SendSettings)

    @contextlib.contextmanager
    def client(self) -> Iterator[Headrace]:
        """A client of the stage. Its errors end the command with one sentence."""
        url = self.given(self.http_url, "HEADRACE", "http_url")
        token = self.needed_token()
        with one_sentence(token), Headrace(url, token, settings=self.settings, answer_seconds=ANSWER_SECONDS) as client:
            yield client

    def needed_token(self) -> Token:
        """The token that was given, or that of the profile. Without one the command ends."""
        if self.token or self.profile is None:
            return self.token or self.given(None, "TOKEN", "")
        with one_sentence():
            return self.profile.token()

    def token_text(self) -> str:
        """The access token itself; empty if none was given, and no profile is used."""
        token = self.needed_token() if self.profile is not None else self.token or ""
        return token.get() if isinstance(token, Renewed) else str(token)

    def given(self, value: str | None, variable: str, setting: str) -> str:
        """``value``, or an error that says how to set it."""
        if not value and self.profile is not None:
            raise click.UsageError(f"the profile {self.profile.name} has no {setting}")
        if not value:
            raise click.UsageError(
                f'{variable} is not set; name a profile, or for the local stage: eval "$(make -s env)"'
            )
        return value

    def show(self, answer: Any) -> None:
        """Print an answer of one object or number."""
        if self.as_json:
            show_json(answer)
        elif isinstance(answer, dict):
            show_values(answer)
        else:
            click.echo(visible(answer))

    def show_items(self, items: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> None:
        """Print items as a table with these columns, or each as JSON."""
        if not self.as_json:
            show_rows(items, [*columns])
        for each in items if self.as_json else ():
            show_json(each)

    def show_sent(self, sent: Sequence[Sent], names: Sequence[str]) -> None:
        """Print these fields of each event, and its lane or its error. With an error, the command ends with 1."""
        rows = []
        for each in sent:
            error = each.error if self.as_json or each.error is None else explained(each.error)
            became = {"lane": each.lane} if error is None else {"error": error}
            rows.append({name: each.event[name] for name in names if name in each.event} | became)
        self.show_items(rows, (*names, "lane", "error"))
        sys.exit(0 if all(each.is_accepted for each in sent) else 1)


@contextlib.contextmanager
def one_sentence(token: Token | None = None) -> Iterator[None]:
    """End the command with one sentence for an error of the client or a file. ``token`` is the one that was sent."""
    try:
        yield
    except (HeadraceError, ValueError, OSError) as error:
        sys.exit(f"headrace: {visible(_explained(error, token))}")


def _explained(error: Exception, token: Token | None) -> str:
    if isinstance(error, Unreachable) and urlsplit(error.url).hostname in LOOPBACK:
        return f"no stage runs at {error.url}; start one with: make up"
    if not isinstance(error, Refused) or error.message not in WITHOUT_REASON:
        return str(error)
    claims = claims_of(token.get() if isinstance(token, Renewed) else str(token))
    if error.code == "forbidden":  # API Gateway does not say what is missing
        scopes = claims.get("scope", claims.get("scp", "none"))
        return f"the token lacks the scope that this needs; it has: {scopes}"
    with contextlib.suppress(KeyError, TypeError, ValueError):
        ago = time.time() - float(claims["exp"])
        if ago > 0:
            return f"the token expired {ago / 60:.0f} minutes ago; get another one"
    return "the token is not accepted: it is not one of this stage's issuer, or not for this stage"


def claims_of(token: str) -> dict[str, Any]:
    """What a token says, unverified; nothing if it is not a JWT."""
    try:
        payload = token.split(".")[1]
        return dict(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))
    except (IndexError, ValueError, TypeError):
        return {}
