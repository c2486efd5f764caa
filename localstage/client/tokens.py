"""Tokens from the local stage's issuer."""

from __future__ import annotations

import time
from collections.abc import Sequence

from localstage.client.errors import HttpError, TokenRefused
from localstage.client.http_api import HttpApi

TOKEN_TTL = 3600
"""Seconds that a token is valid; it is replaced after half of them."""


class Token:
    """A token for ``user``, fetched at the first call and again before it expires."""

    def __init__(self, token_url: str, user: str, scopes: Sequence[str]) -> None:
        self._token_url = token_url
        self._user = user
        self._scopes = scopes
        self._value = ""
        self._fetch_at = 0.0

    def __call__(self) -> str:
        if time.monotonic() >= self._fetch_at:
            self._value = fetch_token(self._token_url, self._user, self._scopes)
            self._fetch_at = time.monotonic() + TOKEN_TTL / 2
        return self._value


def fetch_token(token_url: str, user: str, scopes: Sequence[str]) -> str:
    """Get a token for ``user`` from the issuer at ``token_url``.

    Raises:
        TokenRefused: the issuer gave no token.
    """
    issuer = HttpApi(token_url)
    try:
        answer = issuer.post("", {"user": user, "scopes": list(scopes), "ttl": TOKEN_TTL})
        return str(answer["access_token"])
    except (HttpError, KeyError) as error:
        raise TokenRefused(f"no token for {user}: {error}") from None
    finally:
        issuer.close()
