"""Finds the HTTP API that the commands use."""

from __future__ import annotations

import os

from localstage.client.errors import StageNotFound
from localstage.client.http_api import HttpApi
from localstage.client.running_stage import running_stage, stage_file
from localstage.client.tokens import Token

OPERATOR = "operator"
ANSWER_SECONDS = 40.0
"""A slice of work takes up to 28 s."""


def find(http_url: str | None) -> HttpApi:
    """The HTTP API at ``http_url``, with the token in ``HEADRACE_TOKEN``; without a URL that of the local stage.

    Raises:
        StageNotFound: no URL and no local stage runs, or a URL and no token.
    """
    if http_url:
        token = os.environ.get("HEADRACE_TOKEN", "")
        if not token:
            raise StageNotFound("set the variable HEADRACE_TOKEN to a token with the scope ops")
        return HttpApi(http_url, lambda: token, timeout=ANSWER_SECONDS)
    stage = running_stage()
    if stage is None:
        raise StageNotFound(f"no stage runs in {stage_file().parent}; start one with: make up, or give --http-url")
    return HttpApi(stage.http_url, Token(stage.token_url, OPERATOR, ["ops"]), timeout=ANSWER_SECONDS)
