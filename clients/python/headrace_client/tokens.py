"""Access tokens: a text, or a function that returns one, also asynchronously."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable

from .errors import HeadraceError, Unavailable

Token = str | Callable[[], str | Awaitable[str]]
"""A token, or a function that returns one. It is called for each connection or request, because tokens expire."""


async def token_of(token: Token) -> str:
    """The access token that ``token`` gives now.

    Raises:
        HeadraceError: the function raised it, such as a :class:`Refused` of an issuer.
        Unavailable: the function failed with another error, which is the cause.
    """
    if isinstance(token, str):
        return token
    try:
        found = token()
        return await found if isawaitable(found) else found
    except HeadraceError:
        raise
    except Exception as error:
        # Its text could contain a secret, so only its type is named.
        raise Unavailable(f"the token function failed: {type(error).__name__}") from error
