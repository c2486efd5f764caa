"""Which stage the traffic goes to, and who signs in there."""

from __future__ import annotations

import base64
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from localstage.client.http_api import HttpApi, StageNotFound, TokenRefused, WebSocket, fetch_token

ROOT = Path(__file__).resolve().parents[2]
TOKEN_TTL = 3600
READER = "loadtest-reader"


class Token:
    """A token for one user, fetched at first use and again before it expires."""

    def __init__(self, token_url: str, user: str, scopes: list[str]) -> None:
        self._token_url = token_url
        self._user = user
        self._scopes = scopes
        self._value = ""
        self._fetch_at = 0.0

    def __call__(self) -> str:
        if time.monotonic() >= self._fetch_at:
            self._value = fetch_token(self._token_url, self._user, self._scopes, TOKEN_TTL)
            self._fetch_at = time.monotonic() + TOKEN_TTL / 2
        return self._value


@dataclass(frozen=True)
class Target:
    """A stage's URLs. ``token_url`` issues tokens (the local stage); else ``token`` serves everybody."""

    http_url: str
    websocket_url: str
    token_url: str = ""
    token: str = ""

    def signed_in(self, user: str, *scopes: str) -> Token | _Fixed:
        """A source of tokens for ``user``.

        Raises:
            TokenRefused: the target has neither a token nor an issuer.
        """
        if self.token:
            return _Fixed(self.token)
        if not self.token_url:
            raise TokenRefused("give --token-url or the variable HEADRACE_TOKEN to sign in at this target")
        return Token(self.token_url, user, list(scopes))

    def websocket(self, user: str, *scopes: str, timeout: float = 10.0) -> WebSocket:
        """A WebSocket as ``user``, not yet open."""
        return WebSocket(self.websocket_url, self.signed_in(user, *scopes), timeout=timeout)

    @property
    def reader_id(self) -> str:
        """Who :meth:`reader` is.

        Raises:
            TokenRefused: the one token of this target names nobody.
        """
        return _subject(self.token) if self.token else READER

    def reader(self) -> HttpApi:
        """The HTTP API for someone who may read."""
        return HttpApi(self.http_url, self.signed_in(READER, "chat:read"))

    def http(self, user: str, *scopes: str, connections: int = 8, timeout: float = 15.0) -> HttpApi:
        """The HTTP API as ``user``, for so many threads at once."""
        return HttpApi(self.http_url, self.signed_in(user, *scopes), timeout=timeout, connections=connections)

    def analyst(self) -> HttpApi:
        """The HTTP API for someone who may ask for analytics."""
        return HttpApi(self.http_url, self.signed_in(READER, "analytics:read"))


def _subject(token: str) -> str:
    """The subject of a JWT, which is not checked here: that is the platform's to do."""
    try:
        claims = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"])
    except (IndexError, ValueError, KeyError, TypeError):
        raise TokenRefused("HEADRACE_TOKEN is no token that names a user") from None


@dataclass(frozen=True)
class _Fixed:
    value: str

    def __call__(self) -> str:
        return self.value


def stage_file() -> Path:
    """Where the local stage says how to reach it: in ``LOCALSTAGE_STATE_DIR``, as the stage itself reads it."""
    return ROOT / (os.environ.get("LOCALSTAGE_STATE_DIR") or ".local") / "stage.json"


def running_stage(path: Path | None = None) -> Target | None:
    """The local stage that runs now, or None. A file left by a stage that is gone counts as none."""
    try:
        state = json.loads((path or stage_file()).read_text(encoding="utf-8"))
        os.kill(int(state["pid"]), 0)
        return Target(state["http_url"], state["websocket_url"], state["token_url"])
    except (OSError, ValueError, KeyError):
        return None


def find(http_url: str | None, websocket_url: str | None, token_url: str | None) -> Target:
    """The target named by URLs, or else the local stage.

    Raises:
        StageNotFound: no URLs, and no stage runs here.
    """
    if http_url and websocket_url:
        return Target(http_url, websocket_url, token_url or "", os.environ.get("HEADRACE_TOKEN", ""))
    if http_url or websocket_url:
        raise StageNotFound("give both --http-url and --websocket-url, or neither")
    stage = running_stage()
    if stage is None:
        raise StageNotFound("no stage runs here; start one with: make up")
    return stage
