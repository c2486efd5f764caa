"""The WebSocket API's authorizer: checks the token on $connect, and hands its claims to every later event."""

from __future__ import annotations

import functools
from typing import Any

from headrace.api.authorizer import decide
from headrace.api.tokens import TokenVerifier
from headrace.runtime.settings import AuthorizerSettings


@functools.cache
def verifier() -> TokenVerifier:
    settings = AuthorizerSettings.read()
    return TokenVerifier(settings.jwt_issuer, settings.jwt_audience, settings.scope_prefix)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer an IAM policy; raise ``Unauthorized``, which API Gateway answers with 401, for a token it cannot trust."""
    return decide(event, verifier())
