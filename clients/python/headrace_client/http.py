"""Requests to the HTTP API, and sending over it."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
from yarl import URL

from .errors import GATEWAY_CODES, RateLimited, Refused, Unavailable, Unreachable, explained
from .session import CONNECT_SECONDS, Redirected, address, opened_session, reason_of
from .tokens import Token, given_token, token_of

HTTP_EVENTS = 500
HTTP_BYTES = 4 * 1024 * 1024
UPLOAD_SECONDS = 600.0
"""The timeout of an upload: a large file on a slow line takes minutes."""
TRY_AGAIN = (408, 409, 429)
"""Statuses of storage, beside 5xx, after which the same upload may succeed."""
TOO_SLOW = b"<Code>RequestTimeout</Code>"
"""In a 400 of storage: it waited too long for the next bytes, so the same upload may succeed."""
ONLY_FOR_API = ("auth", "base_url", "cookie_jar", "cookies", "headers", "middlewares")
"""Options of a session that storage does not get: they may have secrets of the API."""
NOT_OPEN = "the client is not open; use it in a with statement"
NOT_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


class HttpTransport:
    """The HTTP API at ``url``. ``options`` are those of :class:`aiohttp.ClientSession`, such as ``proxy``.

    Raises:
        Refused: the address or the token has another form.
    """

    max_events = HTTP_EVENTS
    max_bytes = HTTP_BYTES

    def __init__(self, url: str, token: Token, answer_seconds: float = 30.0, **options: Any) -> None:
        self._url = address(url, "http", "https")
        self._token = given_token(token)
        self._answer_seconds = answer_seconds
        self._options = options
        self._session: aiohttp.ClientSession | None = None
        self._answered = False
        self.free_at: dict[str, float] = {}
        """When the next request of a method can be sent, by ``time.monotonic``; known from ``RateLimit``."""

    async def open(self) -> None:
        """Open the HTTP session."""
        self._session = opened_session(self._answer_seconds, self._options)

    async def close(self) -> None:
        """Close the HTTP session."""
        if self._session is not None:
            await self._session.close()

    async def ask(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> tuple[int, str | None, Any]:
        """Send one request; returns the status, the header ``Retry-After`` and the JSON of the answer.

        A 401 is asked again once, with what a function of tokens gives then.

        Raises:
            Refused: what answers is not an HTTP API of Headrace.
            Unavailable: no answer.
            Unreachable: no connection, and no request was answered yet.
            RuntimeError: the session is not open.
        """
        found = await self._ask(method, path, query, body)
        return await self._ask(method, path, query, body) if found[0] == 401 and callable(self._token) else found

    async def _ask(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: Any
    ) -> tuple[int, str | None, Any]:
        if self._session is None:
            raise RuntimeError(NOT_OPEN)
        headers = {"authorization": f"Bearer {await token_of(self._token)}"}
        shown = [(name, _text(each)) for name, value in (query or {}).items() for each in _values(value)]
        sent = {} if body is None else {"json": body}
        try:
            async with self._session.request(method, self._url + path, params=shown, headers=headers, **sent) as answer:
                self._answered = True
                self._keep_pace(method, answer.headers.get("RateLimit", ""))
                found = _json(await answer.read())
                if answer.status < 300 and found is None:
                    raise Refused("invalid_answer", f"{self._url} does not answer as Headrace does")
                return answer.status, answer.headers.get("Retry-After"), found
        except Redirected as error:
            raise Refused("invalid_answer", f"{self._url} answers with {error}") from None
        except aiohttp.ClientHttpProxyError as error:  # the answer of a proxy to CONNECT
            return error.status, None, None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            said = f"no answer from {self._url}: {reason_of(error)}"
            if self._answered or not isinstance(error, NOT_CONNECTED):
                raise Unavailable(said) from error
            raise Unreachable(said, self._url) from error

    def _keep_pace(self, method: str, rate_limit: str) -> None:
        message = Message()
        message["RateLimit"] = rate_limit
        limit = dict(message.get_params((), "RateLimit"))  # such as "events";r=0;t=5
        with contextlib.suppress(KeyError, ValueError):
            if int(limit["r"]) == 0:
                self.free_at[method] = time.monotonic() + int(limit["t"])

    async def put(self, url: str, headers: Mapping[str, str], data: bytes) -> None:
        """Put a file to a signed address, without what is for the API. It is done too if an earlier attempt arrived.

        Raises:
            Refused: the address has expired, or is for another type or length.
            Unavailable: no answer, or a temporary error.
            RuntimeError: the session is not open.
        """
        if self._session is None:
            raise RuntimeError(NOT_OPEN)
        options = {name: value for name, value in self._options.items() if name not in ONLY_FOR_API}
        options = {"trust_env": True, **options, "connector": self._session.connector, "connector_owner": False}
        timeout = aiohttp.ClientTimeout(total=UPLOAD_SECONDS, sock_connect=CONNECT_SECONDS)
        signed = URL(url, encoded=True)  # as it was signed
        try:
            async with (
                aiohttp.ClientSession(**options) as session,
                session.put(signed, data=data, headers=headers, timeout=timeout) as answer,
            ):
                status = answer.status
                is_slow = status == 400 and TOO_SLOW in await answer.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"no answer to an upload: {reason_of(error)}") from error
        if is_slow or status in TRY_AGAIN or status >= 500:
            raise Unavailable(f"{status} to an upload")
        if status != 412 and status >= 300:
            raise Refused(GATEWAY_CODES.get(status, str(status)), "the file is not taken at its upload address")

    async def post(self, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Post messages, as :meth:`batch`."""
        return await self.batch("/messages/batch", events)

    async def batch(self, path: str, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Post ``events`` to ``path``; returns one result for each.

        Raises:
            Refused: a permanent error of the whole request.
            Unavailable: no answer, or 429 or 5xx without a result for each event.
            Unreachable: no connection, and no request was answered yet.
        """
        status, retry_after, found = await self.ask("POST", path, body={"events": [*events]})
        results = found.get("results") if isinstance(found, dict) else None
        if isinstance(results, list) and len(results) == len(events):
            return results
        checked(status, retry_after, found)
        raise Unavailable("an answer without a result for each event")


def checked(status: int, retry_after: str | None, found: Any) -> Any:
    """The JSON of an answer.

    Raises:
        Refused: the answer is a permanent error.
        RateLimited, Unavailable: the answer is a temporary error.
    """
    if status < 400:
        return found
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict):  # an error of API Gateway or a proxy
        said = found.get("message") if isinstance(found, dict) else None
        message = error or said or f"the answer has the status {status}"
        error = {"code": GATEWAY_CODES.get(status, str(status)), "message": message}
    if status != 429 and status < 500:
        raise Refused(error["code"], explained(error))
    seconds = _seconds(retry_after or error.get("retryAfter"))
    raise (RateLimited if status == 429 else Unavailable)(f"{status} {error['message']}", seconds)


def _seconds(given: Any) -> float | None:
    """The seconds that ``Retry-After`` asks for, as a number or a date (RFC 9110, 10.2.3); None without one."""
    with contextlib.suppress(TypeError, ValueError):
        seconds = float(given)
        return seconds if 0 <= seconds < math.inf else None
    with contextlib.suppress(TypeError, ValueError):
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    return None


def _values(value: Any) -> list[Any]:
    """The values of a parameter of a query: one for each item of a list, and none for ``None``."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
