"""Tokens from the local stage's issuer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

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
        """The token.

        Raises:
            TokenRefused: the issuer gave no token.
        """
        if time.monotonic() >= self._fetch_at:
            wanted = {"user": self._user, "scopes": list(self._scopes), "ttl": TOKEN_TTL}
            try:
                with closing(HttpApi(self._token_url)) as issuer:
                    self._value = str(issuer.post("", wanted)["access_token"])
            except (HttpError, KeyError) as error:
                raise TokenRefused(f"no token for {self._user}: {error}") from None
            self._fetch_at = time.monotonic() + TOKEN_TTL / 2
        return self._value
