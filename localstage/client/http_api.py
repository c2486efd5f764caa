"""A blocking client of the HTTP API."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from headrace_client import SendSettings
from headrace_client.blocking import repeated
from headrace_client.errors import explained
from localstage.client.errors import UNREACHABLE, HttpError

REPEATING = SendSettings(first_pause=0.4, longest_pause=5.0, retry_timeout=60.0)


class HttpApi:
    """The HTTP API over a pool of ``connections`` connections, shared by threads. Times are seconds.

    Idempotent requests are repeated for ``retry_timeout``; 0: never. ``answered`` is called after each request, with
    its method, when it began (epoch seconds), and the status of its answer, 0 without one.
    """

    def __init__(
        self,
        url: str,
        token: Callable[[], str] | None = None,
        *,
        timeout: float = 15.0,
        connections: int = 8,
        retry_timeout: float = REPEATING.retry_timeout,
        answered: Callable[[str, float, int], object] = lambda *_: None,
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._retry_timeout = retry_timeout
        self._answered = answered
        self._pool = urllib3.PoolManager(
            num_pools=2, maxsize=connections, timeout=urllib3.Timeout(total=timeout), retries=False, block=True
        )

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST ``body`` once: only the caller knows whether the request is idempotent.

        Raises:
            HttpError: not a 2xx, or not reachable.
        """
        return _object(self._request("POST", path, json.dumps(body, ensure_ascii=False).encode()))

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """GET; repeated while the error is retryable.

        Raises:
            HttpError: not a 2xx, in the last attempt too.
        """
        return _object(self._repeat("GET", f"{path}?{urlencode(query)}" if query else path, None))

    def get_value(self, path: str) -> Any:
        """GET an answer that is not an object; repeated like :meth:`get`."""
        return self._repeat("GET", path, None)

    def change(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """PUT, PATCH or DELETE with ``body``; repeated like :meth:`get`."""
        return _object(self._repeat(method, path, json.dumps(body, ensure_ascii=False).encode()))

    def with_token(self, token: Callable[[], str]) -> HttpApi:
        """The same API with another token, over the same connections. Close one of the two."""
        other = copy.copy(self)
        other._token = token
        return other

    def _repeat(self, method: str, target: str, body: bytes | None) -> Any:
        if not self._retry_timeout:
            return self._request(method, target, body)
        settings = replace(REPEATING, retry_timeout=self._retry_timeout)
        request = partial(self._request, method, target, body)
        return repeated(request, settings, lambda error: getattr(error, "retryable", False))

    def room_page(
        self, room: str, *, limit: int = 20, before: str = "", start: str | None = None, end: str | None = None
    ) -> dict[str, Any]:
        """One page of a room's history, newest first: from ``start`` to before ``end``, behind cursor ``before``."""
        return self._page(_room_path(room), {"limit": str(limit), "before": before, "from": start, "to": end})

    def walk_room(
        self, room: str, *, limit: int = 200, start: str | None = None, end: str | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the items of every page of a room's history, as :meth:`walk` does.

        A room that no stored message has created yet has no pages.
        """
        pages = self.walk(_room_path(room), limit=limit, **{"from": start, "to": end})
        try:
            first = next(pages)
        except HttpError as error:
            if error.code == "not_found":
                return
            raise
        yield first
        yield from pages

    def walk(self, path: str, *, limit: int = 200, **query: str | None) -> Iterator[list[dict[str, Any]]]:
        """Yield the items of every page from newest to oldest, by ``before=next``.

        Raises:
            HttpError: a page cannot be read, or a cursor is repeated (code ``bad_page``).
        """
        before = ""
        while True:
            page = self._page(path, {**query, "limit": str(limit), "before": before})
            yield page["items"]
            if not page["hasMore"]:
                return
            if not page["next"] or page["next"] == before:
                raise HttpError(200, "bad_page", "a page says hasMore, but it has no usable cursor")
            before = page["next"]

    def _page(self, path: str, query: Mapping[str, str | None]) -> dict[str, Any]:
        return self.get(path, {name: value for name, value in query.items() if value})

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _request(self, method: str, target: str, body: bytes | None) -> Any:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token()}"
        began = time.time()
        try:
            answer = self._pool.request(method, self._url + target, body=body, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            self._answered(method, began, 0)
            address = self._url.partition("?")[0]  # the query of a token URL is a secret
            raise HttpError(0, UNREACHABLE, f"{address} does not answer ({type(error).__name__})") from None
        self._answered(method, began, answer.status)
        try:
            content = json.loads(answer.data) if answer.data else {}
        except ValueError:
            content = {}
        if 200 <= answer.status < 300:
            return content
        raise _http_error(answer, content)


def _room_path(room: str) -> str:
    return f"/rooms/{quote(room, safe='')}/messages"


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise HttpError(200, "bad_answer", "the answer is not an object")
    return content


def _http_error(answer: urllib3.BaseHTTPResponse, content: Any) -> HttpError:
    known = content.get("error") if isinstance(content, dict) else None
    error = known if isinstance(known, dict) else {}
    retry_after = answer.headers.get("Retry-After", "")
    return HttpError(
        answer.status,
        str(error.get("code", answer.status)),
        explained({"message": "no reason given", **error}),
        float(retry_after) if retry_after.isdigit() else None,
    )
