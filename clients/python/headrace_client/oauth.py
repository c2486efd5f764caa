"""Access tokens of an OAuth issuer, such as Cognito: for programs, and for a person at a terminal.

    token = ClientCredentials(discover(ISSUER).token_url, CLIENT_ID, CLIENT_SECRET, ["headrace/events:write"])
    async with over_http(URL, token) as sender: ...

A token is renewed before it expires, by one request, however many wait for it. Programs with threads and with event
loops can share one object. The requests obey ``HTTPS_PROXY`` and ``NO_PROXY``.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from .errors import HeadraceError, Refused, Unavailable

ANSWER_SECONDS = 10.0
LEFT = 0.2
"""The share of a token's life that is left when it is renewed."""
PAUSE = 5.0
"""Seconds between attempts to renew a token that is still valid."""


@dataclass(frozen=True)
class Issuer:
    """The addresses of an issuer: where people sign in, and where it gives tokens."""

    authorize_url: str
    token_url: str


@dataclass(frozen=True)
class Grant:
    """An access token, when it expires (seconds of the epoch), and what renews it, if anything does."""

    access_token: str
    expires_at: float
    refresh_token: str = ""


def discover(issuer: str) -> Issuer:
    """Read the addresses that an issuer, the ``iss`` of its tokens, publishes (OpenID Connect Discovery).

    Raises:
        Refused: the address is not one of an issuer.
        Unavailable: no answer.
    """
    found = _answer(Request(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))  # noqa: S310
    return Issuer(str(found.get("authorization_endpoint", "")), str(found.get("token_endpoint", "")))


class Renewed:
    """A token that is renewed before it expires.

    ``renew`` fetches another one; ``clock`` is in seconds of the epoch.
    """

    def __init__(self, renew: Callable[[], Grant], *, clock: Callable[[], float] = time.time) -> None:
        self._renew = renew
        self._clock = clock
        self._lock = threading.Lock()
        self._grant = Grant("", 0.0)
        self._renew_at = 0.0
        self._attempts = 0
        self._failure: HeadraceError | None = None
        """The error of the last attempt, if it failed."""

    async def __call__(self) -> str:
        """The token, as :meth:`get`; the event loop goes on meanwhile."""
        if self._clock() < self._renew_at:
            return self._grant.access_token
        return await asyncio.to_thread(self._get, self._attempts)

    def get(self) -> str:
        """The token; a request to the issuer only if there is none or it expires soon.

        Raises:
            Refused: the issuer gives no token.
            Unavailable: the issuer does not answer, and the last token has expired.
        """
        return self._grant.access_token if self._clock() < self._renew_at else self._get(self._attempts)

    def _get(self, attempts: int) -> str:
        """The token, with the result of any attempt that ended since there were so many ``attempts``."""
        with self._lock:
            if self._attempts == attempts and self._clock() >= self._renew_at:
                self._attempt()
            if self._failure is not None and self._clock() >= self._grant.expires_at:
                raise self._failure
            return self._grant.access_token

    def _attempt(self) -> None:
        now = self._clock()
        try:
            self._grant, self._failure = self._renew(), None
            self._renew_at = now + (self._grant.expires_at - now) * (1 - LEFT)
        except HeadraceError as error:
            self._failure = error
            self._renew_at = min(now + PAUSE, self._grant.expires_at)  # it may succeed before the token expires
        finally:
            self._attempts += 1


class ClientCredentials(Renewed):
    """Tokens of a program that has a client id and a secret.

    Without ``scopes`` the issuer grants those of the client.
    """

    def __init__(
        self,
        token_url: str,
        client_id: str,
        client_secret: str,
        scopes: Sequence[str] = (),
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        fields = {"grant_type": "client_credentials", "scope": " ".join(scopes)}
        secret = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        super().__init__(lambda: granted(token_url, fields, clock, f"Basic {secret}"), clock=clock)


class SignedIn(Renewed):
    """Tokens of a person who signed in with :func:`sign_in`; the refresh token renews them.

    ``load`` returns the last grant, and ``save`` keeps the next one, so that programs can share a file.
    """

    def __init__(
        self,
        token_url: str,
        client_id: str,
        load: Callable[[], Grant],
        save: Callable[[Grant], object],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        def renew() -> Grant:
            last, now = load(), clock()
            if last.access_token != self._grant.access_token and now < last.expires_at - PAUSE:
                return last  # of another program, or of the sign-in
            if not last.refresh_token:
                raise Refused("login_required", "the sign-in has expired")
            fields = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": last.refresh_token}
            grant = granted(token_url, fields, clock)
            kept = Grant(grant.access_token, grant.expires_at, grant.refresh_token or last.refresh_token)
            save(kept)
            return kept

        super().__init__(renew, clock=clock)


def granted(
    token_url: str, fields: Mapping[str, str], clock: Callable[[], float] = time.time, authorization: str = ""
) -> Grant:
    """What an issuer gives for the fields of a form; those that are empty are left out.

    Raises:
        Refused: the issuer gives no token.
        Unavailable: no answer.
    """
    form = urlencode({name: value for name, value in fields.items() if value}).encode()
    headers = {"Authorization": authorization} if authorization else {}
    now = clock()
    answer = _answer(Request(token_url, form, headers))  # noqa: S310
    try:
        life = float(answer.get("expires_in", 3600))
        return Grant(str(answer["access_token"]), now + life, str(answer.get("refresh_token", "")))
    except (KeyError, TypeError, ValueError):
        raise Refused("invalid_answer", f"{_without_query(token_url)} does not answer as an issuer does") from None


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the secret of a client to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _answer(request: Request) -> dict[str, Any]:
    address = _without_query(request.full_url)
    try:
        with build_opener(_NoRedirect).open(request, timeout=ANSWER_SECONDS) as answer:
            found = json.loads(answer.read())
    except HTTPError as error:
        raise _error_of(error, address) from None
    except ValueError:
        raise Refused("invalid_answer", f"{address} does not answer as an issuer does") from None
    except OSError as error:
        raise Unavailable(f"no answer from {address}: {getattr(error, 'reason', error)}") from None
    if not isinstance(found, dict):
        raise Refused("invalid_answer", f"{address} does not answer as an issuer does")
    return found


def _error_of(error: HTTPError, address: str) -> HeadraceError:
    try:
        found = json.loads(error.read())
        code, said = str(found["error"]), str(found.get("error_description", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        code, said = str(error.code), ""
    if error.code == 429 or error.code >= 500:
        return Unavailable(f"no token from {address}: {error.code}")
    return Refused(code, f"{address} gives no token{': ' if said else ''}{said[:200]}")


def _without_query(url: str) -> str:
    return url.partition("?")[0]
