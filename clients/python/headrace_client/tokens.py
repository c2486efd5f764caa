"""Access tokens: a text, or a function that returns one, also asynchronously."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable

from .errors import HeadraceError, NoToken, Refused

Token = str | Callable[[], str | Awaitable[str]]
"""A token, or a function that returns one. It is called for each connection or request, because tokens expire."""
_JWT = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){2}")


def given_token(token: Token) -> Token:
    """``token`` as a program gave it: a function, or a text without the space around it.

    Raises:
        Refused: a text that is not a JWT, and never will be.
    """
    return token if callable(token) else _jwt(token)


async def token_of(token: Token) -> str:
    """The access token that ``token`` gives now.

    Raises:
        HeadraceError: the function raised it, such as a :class:`Refused` of an issuer.
        NoToken: the function failed with another error, which is the cause, or what it gave is not a JWT.
    """
    if isinstance(token, str):
        return token
    try:
        found = token()
        found = await found if isawaitable(found) else found
    except HeadraceError:
        raise
    except Exception as error:
        # Its text could contain a secret, so only its type is named.
        raise NoToken(f"the token function failed: {type(error).__name__}") from error
    try:
        return _jwt(found)
    except Refused as error:  # such as the page of a proxy; the next answer may be a token
        raise NoToken(f"the token function failed: {error.message}") from None


def _jwt(found: object) -> str:
    """``found`` without the space around it. A header can take any JWT, and not any text."""
    if isinstance(found, str) and _JWT.fullmatch(found.strip()):
        return found.strip()
    what = f"a text of {len(found)} characters" if isinstance(found, str) else type(found).__name__
    raise Refused("invalid_token", f"the token is {what}; allowed: a JWT, three parts of base64url with dots between")
