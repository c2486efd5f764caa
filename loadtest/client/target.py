"""The stage that receives the load, and its tokens."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loadtest.client.websocket import WebSocket
from localstage.client.errors import StageNotFound, TokenRefused
from localstage.client.http_api import HttpApi
from localstage.client.running_stage import running_stage
from localstage.client.tokens import Token

READER = "loadtest-reader"


@dataclass(frozen=True)
class Target:
    """The URLs of a stage. ``token_url`` issues tokens (local stage); without it every user has the same ``token``."""

    http_url: str
    websocket_url: str
    token_url: str = ""
    token: str = ""

    @classmethod
    def running(cls, path: Path | None = None) -> Target | None:
        """The local stage that runs now, if there is one; see :func:`running_stage`."""
        stage = running_stage(path)
        return None if stage is None else cls(stage.http_url, stage.websocket_url, stage.token_url)

    @classmethod
    def find(cls, http_url: str | None, websocket_url: str | None, token_url: str | None) -> Target:
        """The target with these URLs, or without URLs the local stage.

        Raises:
            StageNotFound: no URLs, and no stage runs here.
        """
        if http_url and websocket_url:
            return cls(http_url, websocket_url, token_url or "", os.environ.get("HEADRACE_TOKEN", ""))
        if http_url or websocket_url:
            raise StageNotFound("give both --http-url and --websocket-url, or neither")
        stage = cls.running()
        if stage is None:
            raise StageNotFound("no stage runs here; start one with: make up")
        return stage

    def token_for(self, user: str, *scopes: str) -> Callable[[], str]:
        """A function that returns a valid token for ``user``.

        Raises:
            TokenRefused: the target has neither a token nor an issuer.
        """
        if self.token:
            return lambda: self.token
        if not self.token_url:
            raise TokenRefused("this target needs --token-url or the variable HEADRACE_TOKEN")
        return Token(self.token_url, user, scopes)

    def websocket(self, user: str, *scopes: str, timeout: float = 10.0) -> WebSocket:
        """A WebSocket as ``user``, not yet open; ``timeout`` in seconds."""
        return WebSocket(self.websocket_url, self.token_for(user, *scopes), timeout=timeout)

    def http(self, user: str, *scopes: str, connections: int = 8, timeout: float = 15.0) -> HttpApi:
        """The HTTP API as ``user``, for at most ``connections`` threads; ``timeout`` in seconds."""
        return HttpApi(self.http_url, self.token_for(user, *scopes), timeout=timeout, connections=connections)

    def reader(self, scope: str = "chat:read") -> HttpApi:
        """The HTTP API as the user who reads back what was sent."""
        return self.http(READER, scope)

    @property
    def reader_id(self) -> str:
        """The user id of :meth:`reader`.

        Raises:
            TokenRefused: the token of this target is not a JWT with a subject.
        """
        return _subject(self.token) if self.token else READER


def _subject(token: str) -> str:
    """The subject of a JWT, which is not verified here."""
    try:
        claims = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"])
    except (IndexError, ValueError, KeyError, TypeError):
        raise TokenRefused("HEADRACE_TOKEN is not a JWT with a subject") from None
