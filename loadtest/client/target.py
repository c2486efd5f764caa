"""The stage that receives the load, and its tokens."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadtest.client.credentials import TRUSTED, Claims, Credentials, Sender
from loadtest.client.websocket import WebSocket
from localstage.client.errors import StageNotFound, TokenRefused
from localstage.client.http_api import HttpApi
from localstage.client.running_stage import running_stage
from localstage.client.tokens import Token

READER = "loadtest-reader"
NAMED = ("CLIENT_ID", "TOKEN", "TOKENS")
"""Variables that name tokens of a stage that issues none."""


@dataclass(frozen=True)
class Target:
    """The URLs of a stage. ``token_url`` issues tokens for any user (local stage); others have ``credentials``."""

    http_url: str
    websocket_url: str
    token_url: str = ""
    credentials: Credentials | None = None

    @classmethod
    def running(cls, path: Path | None = None) -> Target | None:
        """The local stage that runs now, if there is one; see :func:`running_stage`."""
        stage = running_stage(path)
        return None if stage is None else cls(stage.http_url, stage.websocket_url, stage.token_url)

    @classmethod
    def find(cls, http_url: str | None, websocket_url: str | None, environ: Mapping[str, str] = os.environ) -> Target:
        """The stage with these URLs and the tokens that ``environ`` names, or without URLs the local stage.

        Raises:
            StageNotFound: no URLs, and no stage runs here.
            TokenRefused: URLs without tokens.
        """
        named = cls.named(http_url, websocket_url, environ)
        if named is not None:
            return named
        stage = cls.running()
        if stage is None:
            raise StageNotFound("no stage runs here; start one with: make up")
        return stage

    @classmethod
    def named(
        cls, http_url: str | None, websocket_url: str | None, environ: Mapping[str, str] = os.environ
    ) -> Target | None:
        """The stage with these URLs and the tokens that ``environ`` names; None without URLs.

        A ``TOKEN_URL`` without a ``CLIENT_ID`` and other tokens is the issuer of a local stage.

        Raises:
            StageNotFound: one of the URLs is missing.
            TokenRefused: there are no tokens.
        """
        if not http_url and not websocket_url:
            return None
        if not http_url or not websocket_url:
            raise StageNotFound("give both HTTP_URL and WS_URL, or neither")
        token_url = environ.get("TOKEN_URL", "")
        if token_url and not any(environ.get(name) for name in NAMED):
            return cls(http_url, websocket_url, token_url)
        return cls(http_url, websocket_url, credentials=Credentials.from_environment(token_url, environ))

    def environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The variables with which another process that is given the URLs finds the same tokens.

        Not arguments: the token URL of a local stage contains a secret, and other users see a process's arguments.
        """
        if not self.issues:
            return dict(environ)
        return {name: value for name, value in environ.items() if name not in NAMED} | {"TOKEN_URL": self.token_url}

    @property
    def issues(self) -> bool:
        """Whether any user can get a token, as on the local stage."""
        return self.credentials is None

    def token_for(self, user: str, *scopes: str) -> Callable[[], str]:
        """A function that returns a valid token for ``user``, or one with ``scopes`` if the stage issues none.

        Raises:
            TokenRefused: there is no token with these scopes.
        """
        if self.credentials is not None:
            return self.credentials.holder(*scopes)
        if not self.token_url:
            raise TokenRefused("this stage needs tokens; see docs/how-to/load-test-a-stage.md")
        return Token(self.token_url, user, scopes)

    def sender(self, number: int, *, trusted: bool = False) -> Sender:
        """Sender ``number`` of a run, from 0. With ``trusted`` the local stage lets it name the user of each event.

        Raises:
            TokenRefused: no token may write, or there are fewer tokens than senders.
        """
        if self.credentials is not None:
            return self.credentials.sender(number)
        user = f"load-{number:03d}"
        return Sender(user, trusted, self.token_for(user, TRUSTED if trusted else "chat:write"))

    def websocket(self, user: str, *scopes: str, timeout: float = 10.0) -> WebSocket:
        """A WebSocket as ``user``, not yet open; ``timeout`` in seconds."""
        return WebSocket(self.websocket_url, self.token_for(user, *scopes), timeout=timeout)

    def http(self, user: str, *scopes: str, **options: Any) -> HttpApi:
        """The HTTP API as ``user``, with the ``options`` of :class:`.HttpApi`."""
        return HttpApi(self.http_url, self.token_for(user, *scopes), **options)

    def reader(self, scope: str = "chat:read") -> HttpApi:
        """The HTTP API as the user who reads back what was sent."""
        return self.http(READER, scope)

    def operator(self, user: str) -> HttpApi | None:
        """The HTTP API with the scope ops, for ``GET /status``; None if no token has it."""
        try:
            return self.http(user, "ops")
        except TokenRefused:
            return None

    def joiner(self, user: str) -> HttpApi:
        """The HTTP API as ``user``, to join rooms."""
        try:
            return self.http(user, "chat:write", connections=1)
        except TokenRefused:
            return self.http(user, TRUSTED, connections=1)

    def user_id(self, user: str, scope: str) -> str:
        """The user id of the token for ``user`` with ``scope``."""
        return user if self.issues else Claims.of(self.token_for(user, scope)()).subject

    @property
    def reader_id(self) -> str:
        """The user id of :meth:`reader`."""
        return self.user_id(READER, "chat:read")
