"""Tokens for a stage that does not run here: of an OAuth client, given ones, or one for each user."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace_client import ClientCredentials, HeadraceError
from headrace_client.cli.stage import claims_of
from localstage.client.errors import TokenRefused

TRUSTED, MEMBER = "events:write", "chat:write"

Credential = Callable[[], str]
"""Returns a valid access token, or raises :class:`TokenRefused`. Safe to share between threads and greenlets."""


@dataclass(frozen=True)
class Claims:
    """What a token says, unverified. ``scopes`` have no prefix; ``None`` if the token does not list them."""

    subject: str
    scopes: frozenset[str] | None

    @classmethod
    def of(cls, token: str) -> Claims:
        """The claims of a JWT.

        Raises:
            TokenRefused: it is not a JWT with a subject.
        """
        if "sub" not in (claims := claims_of(token)):
            raise TokenRefused("a token is not a JWT with a subject")
        return cls(str(claims["sub"]), _scopes(claims))

    def missing(self, scopes: Sequence[str]) -> list[str]:
        """Those of ``scopes`` that the token does not have."""
        return [] if self.scopes is None else [each for each in scopes if each not in self.scopes]


def _scopes(claims: Mapping[str, Any]) -> frozenset[str] | None:
    given = claims.get("scope", claims.get("scp"))
    if given is None:
        return None
    # Cognito adds the name of its resource server: headrace/chat:write.
    return frozenset(each.rpartition("/")[2] for each in (given.split() if isinstance(given, str) else given))


def of_client(token_url: str, client_id: str, secret: str) -> Credential:
    """Tokens of an OAuth client with all its scopes, renewed by the Python client."""
    token = ClientCredentials(token_url, client_id, secret)

    def get() -> str:
        try:
            return token.get()
        except HeadraceError as error:
            raise TokenRefused(str(error)) from None

    return get


def given(token: str) -> Credential:
    """One token, which is never replaced."""
    return lambda: token


@dataclass(frozen=True)
class Sender:
    """Who sends: the user ``user_id`` of ``token``, or, with ``trusted``, any user that an event names."""

    user_id: str
    trusted: bool
    token: Credential


class Credentials:
    """All tokens for one stage. ``shared`` are for every user; each of ``users`` is the token of one user."""

    def __init__(self, shared: Sequence[Credential], users: Sequence[str] = ()) -> None:
        self._shared = tuple(shared)
        self._users = tuple(users)

    @classmethod
    def from_environment(cls, token_url: str, environ: Mapping[str, str] = os.environ) -> Credentials:
        """The tokens that variables name: ``CLIENT_ID``, ``ANALYST_ID``, ``TOKEN``, ``TOKENS`` and ``OPS_TOKEN``.

        Raises:
            TokenRefused: there is none, or the file ``TOKENS`` cannot be read.
        """
        shared: list[Credential] = []
        for name in ("CLIENT", "ANALYST"):
            if client := environ.get(f"{name}_ID", ""):
                secret = environ.get(f"{name}_SECRET", "")
                if not token_url or not secret:
                    raise TokenRefused(f"{name}_ID needs the variables TOKEN_URL and {name}_SECRET")
                shared.append(of_client(token_url, client, secret))
        shared += [given(environ[name]) for name in ("TOKEN", "OPS_TOKEN") if environ.get(name)]
        users = user_tokens(Path(environ["TOKENS"])) if environ.get("TOKENS") else []
        if not shared and not users:
            raise TokenRefused("this stage needs tokens: CLIENT_ID and CLIENT_SECRET with TOKEN_URL, TOKENS, or TOKEN")
        return cls(shared, users)

    def sender(self, number: int) -> Sender:
        """The sender with this ``number``, from 0.

        Raises:
            TokenRefused: no token may write, or there are fewer tokens than senders.
        """
        if self._users:
            if number >= len(self._users):
                raise TokenRefused(f"TOKENS has {len(self._users):,} tokens, and more users are to send")
            token = given(self._users[number])
            claims = Claims.of(token())
            if claims.missing([MEMBER]) and claims.missing([TRUSTED]):
                raise TokenRefused(f"token {number + 1} of TOKENS has neither {MEMBER} nor {TRUSTED}")
            return Sender(claims.subject, False, token)
        trusted = self._holder([TRUSTED])
        token = trusted or self.holder(MEMBER)
        return Sender(Claims.of(token()).subject, trusted is not None, token)

    def holder(self, *scopes: str) -> Credential:
        """A token with all of ``scopes``.

        Raises:
            TokenRefused: no token has them.
        """
        found = self._holder(scopes)
        if found is None:
            known = sorted({scope for each in self._all() for scope in Claims.of(each()).scopes or ()})
            raise TokenRefused(f"no token has {' and '.join(scopes)}; they have: {', '.join(known)}")
        return found

    def _holder(self, scopes: Sequence[str]) -> Credential | None:
        return next((each for each in self._all() if not Claims.of(each()).missing(scopes)), None)

    def _all(self) -> list[Credential]:
        return [*self._shared, *map(given, self._users[:1])]


def user_tokens(path: Path) -> list[str]:
    """The tokens in a file with one on each line.

    Raises:
        TokenRefused: it cannot be read, or has none.
    """
    try:
        tokens = path.read_text(encoding="utf-8").split()
    except (OSError, ValueError) as error:
        raise TokenRefused(f"TOKENS={path} cannot be read ({type(error).__name__})") from None
    if not tokens:
        raise TokenRefused(f"TOKENS={path} has no token")
    return tokens
