"""Builds the verifier of tokens for the authorizer of WebSocket connections."""

from __future__ import annotations

import functools

from pydantic import Field

from headrace.api.authorizer import TokenVerifier
from headrace.runtime.setting_forms import Names
from headrace.runtime.settings import AuthSettings


class AuthorizerSettings(AuthSettings):
    """Whose tokens are trusted."""

    jwt_issuer: str = Field(description="the URL of the issuer, as in the token's iss")
    """Issuer whose tokens the WebSocket API accepts."""
    jwt_audience: Names = Field(min_length=1, description="a comma list of the token's aud or client_id")
    """Audiences or client ids that are accepted."""


@functools.cache
def token_verifier() -> TokenVerifier:
    """Verifies the tokens of the issuer that the settings name."""
    settings = AuthorizerSettings.read()
    return TokenVerifier(settings.jwt_issuer, settings.jwt_audience, settings.scope_prefix)
