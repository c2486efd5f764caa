"""Finds the stage that ``doctor`` checks."""

from __future__ import annotations

import os

from headrace_client.cli.doctor_stage import Stage
from localstage.client.errors import StageNotFound
from localstage.client.running_stage import running_stage, stage_file
from localstage.client.tokens import Token

OPERATOR, VISITOR, FRIEND = "operator", "doctor", "doctor-friend"


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
