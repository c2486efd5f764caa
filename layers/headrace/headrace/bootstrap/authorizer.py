"""Builds the verifier of tokens for the authorizer of WebSocket connections."""

from __future__ import annotations

import functools

from headrace.api.authorizer import TokenVerifier
from headrace.runtime.settings import AuthorizerSettings


@functools.cache
def token_verifier() -> TokenVerifier:
    """Verifies the tokens of the issuer that the settings name."""
    settings = AuthorizerSettings.read()
    return TokenVerifier(settings.jwt_issuer, settings.jwt_audience, settings.scope_prefix)
