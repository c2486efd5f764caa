"""What HTTP requests and WebSocket connections have in common: the form of an address, and a session's settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import aiohttp
from yarl import URL

from .errors import Refused

CONNECT_SECONDS = 5.0
REDIRECTS = (301, 302, 303, 307, 308)


class Redirected(aiohttp.ClientError):
    """The answer is a redirect, which an API of Headrace never sends."""


def address(url: str, *schemes: str) -> str:
    """``url`` without slashes at its end, if it has one of ``schemes``, a host, and neither a name nor a query.

    Raises:
        Refused: it has another form.
    """
    try:
        found = URL(url)
        has_more = found.raw_user or found.raw_password or found.raw_query_string or found.raw_fragment
        if found.scheme in schemes and found.host and not has_more and not re.search(r"\s", url):
            return url.rstrip("/")
    except (TypeError, ValueError):
        pass
    shown = re.sub(r"(?<=//)[^/]*@|(?<=\?).*", "…", str(url))  # both can have a secret
    allowed = f"{' or '.join(f'{each}://host' for each in schemes)}, and after it only a port and a path"
    raise Refused("invalid_url", f"{shown!r} is not an address of Headrace; allowed: {allowed}")


def handshake_url(url: str) -> URL:
    """The address of a WebSocket with the scheme of HTTP, so that aiohttp takes the same proxy from the environment."""
    return URL(url).with_scheme("https" if url.lower().startswith("wss:") else "http")


def opened_session(answer_seconds: float, options: Mapping[str, Any]) -> aiohttp.ClientSession:
    """A session with ``options`` of :class:`aiohttp.ClientSession`, such as ``proxy``, ``headers`` or ``connector``.

    Unless they say otherwise, it obeys the variables ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``.
    """
    timeout = aiohttp.ClientTimeout(total=answer_seconds, sock_connect=CONNECT_SECONDS)
    own = {"timeout": timeout, "trust_env": True}
    return aiohttp.ClientSession(
        **{**own, **options, "middlewares": (*options.get("middlewares", ()), _without_redirects)}
    )


async def _without_redirects(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """A redirect would carry the token to another address, and make a GET of a POST."""
    answer = await handler(request)
    if answer.status in REDIRECTS:
        answer.close()
        target = answer.headers.get("Location", "nowhere").partition("?")[0]
        raise Redirected(f"a redirect to {target}, which does not answer as Headrace does")
    return answer


def reason_of(error: Exception) -> str:
    """Why a connection or a request failed, in few words."""
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        is_known = not isinstance(error, aiohttp.ClientSSLError) and (cause.errno or 0) > 0
        return os.strerror(cause.errno or 0) if is_known else str(cause.strerror or cause)
    if isinstance(error, aiohttp.ClientResponseError):  # of a handshake, or of a proxy
        return f"the answer has the status {error.status}"
    return str(error) or type(error).__name__
