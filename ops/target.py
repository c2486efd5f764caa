"""Finds the stage that the commands use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headrace_client import Headrace
from headrace_client.cli import stage as cli
from headrace_client.cli.doctor_stage import Stage
from localstage.client.errors import StageNotFound
from localstage.client.running_stage import running_stage, stage_file
from localstage.client.tokens import Token
from ops.messages import errors_as_messages

OPERATOR, VISITOR, FRIEND = "operator", "doctor", "doctor-friend"


@dataclass(frozen=True)
class Operator(cli.Stage):
    """The stage at ``http_url``, with the token in ``HEADRACE_TOKEN``; without a URL the local stage."""

    @contextmanager
    def client(self) -> Iterator[Headrace]:
        with errors_as_messages():
            url, token = find(self.http_url)
        with cli.Stage(url, None, token).client() as client:
            yield client


def find(http_url: str | None) -> tuple[str, str | Token]:
    """The HTTP API at ``http_url``, with the token in ``HEADRACE_TOKEN``; without a URL that of the local stage.

    Raises:
        StageNotFound: no URL and no local stage runs, or a URL and no token.
    """
    if http_url:
        if not (token := os.environ.get("HEADRACE_TOKEN", "")):
            raise StageNotFound("set the variable HEADRACE_TOKEN to a token with the scope ops")
        return http_url, token
    stage = running_stage()
    if stage is None:
        raise StageNotFound(f"no stage runs in {stage_file().parent}; start one with: make up, or give --http-url")
    return stage.http_url, Token(stage.token_url, OPERATOR, ["ops"])


def find_stage(http_url: str | None, websocket_url: str | None) -> Stage:
    """The stage at these URLs, with ``TOKEN``, ``OPS_TOKEN`` and ``FRIEND_TOKEN``; without a URL the local stage.

    Raises:
        StageNotFound: no HTTP URL, and no local stage runs or another URL was given.
        TokenRefused: the local stage gives no token.
    """
    if http_url:
        user, operator, friend = (os.environ.get(name, "") for name in ("TOKEN", "OPS_TOKEN", "FRIEND_TOKEN"))
        return Stage(http_url, websocket_url or "", user, operator, friend)
    if websocket_url:
        raise StageNotFound("give HTTP_URL beside WS_URL")
    stage = running_stage()
    if stage is None:
        raise StageNotFound(f"no stage runs in {stage_file().parent}; start one with: make up, or give HTTP_URL")
    chat = ["chat:read", "chat:write"]
    users = ((VISITOR, chat), (OPERATOR, ["ops"]), (FRIEND, chat))
    user, operator, friend = (Token(stage.token_url, name, scopes)() for name, scopes in users)
    return Stage(stage.http_url, stage.websocket_url, user, operator, friend)
