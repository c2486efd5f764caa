"""The WebSocket API's authorizer: checks the token on $connect, and passes its claims to every later event."""

from __future__ import annotations

from typing import Any

from headrace.api.authorizer import decide
from headrace.bootstrap.authorizer import token_verifier


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Return an IAM policy. For an invalid token, raise ``Unauthorized``, which API Gateway answers with 401."""
    return decide(event, token_verifier())
