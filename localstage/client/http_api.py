"""Blocking clients for the public API: plain threads or gevent greenlets, no event loop.

LoadTestError
├── StageNotFound      no stage can be found to talk to
├── TokenRefused       the token endpoint gave no token
├── ConnectionRefused  the WebSocket API does not let this token in (401, 403)
├── ConnectionLost     the WebSocket could not be opened, or died
├── NoAnswer           a frame was not answered in time
└── HttpError          the HTTP API answered with an error, or not at all
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
import websocket

SUBPROTOCOL = "headrace.v1"
TRIES = 6


class LoadTestError(Exception):
    """Base of what the clients raise; each message is one clear sentence."""


class StageNotFound(LoadTestError):
    """No stage can be found to talk to."""


class TokenRefused(LoadTestError):
    """The token endpoint gave no token."""


class ConnectionRefused(LoadTestError):
    """The WebSocket API does not let this token in; trying again would not help."""


class ConnectionLost(LoadTestError):
    """The WebSocket could not be opened, or died."""


class NoAnswer(LoadTestError):
    """A frame was not answered in time."""


class HttpError(LoadTestError):
    """The HTTP API answered with an error (``status`` and ``code``), or not at all (``status`` 0)."""

    def __init__(self, status: int, code: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"HTTP {status} {code}: {message}")
        self.status = status
        self.code = code
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """True when the same request may succeed later."""
        return self.status == 0 or self.status == 429 or self.status >= 500


class WebSocket:
    """One WebSocket connection as one user; opened again as often as needed.

    ``token`` is called at every opening, so that a new connection never carries an expired token. Times are seconds.
    """

    def __init__(self, url: str, token: Callable[[], str], *, timeout: float = 10.0) -> None:
        self._url = url
        self._token = token
        self._timeout = timeout
        self._socket: websocket.WebSocket | None = None

    @property
    def connected(self) -> bool:
        """True from a successful open until the connection is lost or closed."""
        return self._socket is not None

    def open(self) -> None:
        """Connect with the token as a subprotocol, the one place where a browser can put it.

        Raises:
            ConnectionRefused: the token is not let in.
            ConnectionLost: not reachable, or not able to take a connection now.
        """
        self.close()
        # The payload is decoded strictly in receive(); the library's own check is a Python loop over every byte.
        try:
            self._socket = websocket.create_connection(
                self._url,
                timeout=self._timeout,
                subprotocols=[SUBPROTOCOL, self._token()],
                skip_utf8_validation=True,
                enable_multithread=False,
            )
        except websocket.WebSocketBadStatusException as refused:
            reason = f"the WebSocket API refused the connection with {refused.status_code}"
            raise (ConnectionRefused if refused.status_code in (401, 403) else ConnectionLost)(reason) from None
        except (websocket.WebSocketException, OSError) as error:
            raise ConnectionLost(f"the WebSocket API at {self._url} cannot be reached: {error}") from None

    def close(self) -> None:
        """Close, if open; never fails."""
        closing, self._socket = self._socket, None
        if closing is not None:
            try:
                closing.close(timeout=1)
            except (websocket.WebSocketException, OSError):
                _shut(closing)

    def send(self, frame: str) -> None:
        """Send one text frame.

        Raises:
            ConnectionLost: the connection is gone; nobody knows whether the frame arrived.
        """
        if self._socket is None:
            raise ConnectionLost("the WebSocket is not open")
        try:
            self._socket.send_text(frame)
        except (websocket.WebSocketException, OSError) as error:
            self._drop()
            raise ConnectionLost(f"the connection died while sending: {error}") from None

    def receive(self) -> dict[str, Any]:
        """Return the next answer.

        Raises:
            NoAnswer: none came within the timeout; the connection is still there.
            ConnectionLost: the connection is gone, or what came is not JSON.
        """
        if self._socket is None:
            raise ConnectionLost("the WebSocket is not open")
        try:
            opcode, data = self._socket.recv_data()
        except websocket.WebSocketTimeoutException:
            raise NoAnswer(f"no answer within {self._timeout:g} s") from None
        except (websocket.WebSocketException, OSError) as error:
            self._drop()
            raise ConnectionLost(f"the connection died: {error}") from None
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            self._drop()
            code = int.from_bytes(data[:2], "big") if len(data) >= 2 else 1005
            raise ConnectionLost(f"the other side closed the connection with {code}")
        try:
            answer = json.loads(data)
        except ValueError:
            self._drop()
            raise ConnectionLost("an answer came that is not JSON") from None
        return answer if isinstance(answer, dict) else {"type": "unknown"}

    def request(self, frame: Mapping[str, Any]) -> dict[str, Any]:
        """Send one frame and return its answer, matched by ``requestId`` where the frame has one."""
        self.send(json.dumps(frame, ensure_ascii=False))
        wanted = frame.get("requestId")
        while True:
            answer = self.receive()
            if wanted is None or answer.get("requestId") == wanted:
                return answer

    def _drop(self) -> None:
        dropped, self._socket = self._socket, None
        if dropped is not None:
            _shut(dropped)


def _shut(lost: websocket.WebSocket) -> None:
    lost.shutdown()  # type: ignore[no-untyped-call]  # closes the socket without a closing handshake


class HttpApi:
    """The HTTP API over kept connections; safe to share between threads. Times are seconds."""

    def __init__(
        self, url: str, token: Callable[[], str] | None = None, *, timeout: float = 15.0, connections: int = 8
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._pool = urllib3.PoolManager(
            num_pools=2, maxsize=connections, timeout=urllib3.Timeout(total=timeout), retries=False, block=True
        )

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST ``body``; once, because only the caller knows whether it may be sent again.

        Raises:
            HttpError: not a 2xx, or not reachable.
        """
        return _object(self._request("POST", path, json.dumps(body, ensure_ascii=False).encode()))

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """GET, tried again while the answer says that it may succeed later.

        Raises:
            HttpError: not a 2xx after six tries.
        """
        return _object(self._tried_again("GET", f"{path}?{urlencode(query)}" if query else path, None))

    def get_value(self, path: str) -> Any:
        """GET what answers something else than an object, tried again like :meth:`get`."""
        return self._tried_again("GET", path, None)

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """PUT ``body``, tried again like :meth:`get`: a PUT may come twice."""
        return _object(self._tried_again("PUT", path, json.dumps(body, ensure_ascii=False).encode()))

    def delete(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """DELETE with ``body``, tried again like :meth:`get`."""
        return _object(self._tried_again("DELETE", path, json.dumps(body, ensure_ascii=False).encode()))

    def signed_in(self, token: Callable[[], str]) -> HttpApi:
        """The same API as somebody else, over the same connections; only one of them needs closing."""
        other = copy.copy(self)
        other._token = token
        return other

    def _tried_again(self, method: str, target: str, body: bytes | None) -> Any:
        for attempt in range(1, TRIES + 1):
            try:
                return self._request(method, target, body)
            except HttpError as error:
                if not error.retryable or attempt == TRIES:
                    raise
                time.sleep(min(error.retry_after or 0.1 * 2**attempt, 5.0))
        raise AssertionError("unreachable")

    def room_page(
        self, room: str, *, limit: int = 20, before: str = "", start: str | None = None, end: str | None = None
    ) -> dict[str, Any]:
        """One page of a room's history: newest first, of times from ``start`` to before ``end``, after ``before``."""
        return self._page(_room_path(room), {"limit": str(limit), "before": before, **_window(start, end)})

    def walk_room(
        self, room: str, *, limit: int = 200, start: str | None = None, end: str | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the items of every page of a room's history, as :meth:`walk` does."""
        return self.walk(_room_path(room), limit=limit, **_window(start, end))

    def walk(self, path: str, *, limit: int = 200, **query: str) -> Iterator[list[dict[str, Any]]]:
        """Yield the items of every page from newest to oldest, by ``before=next``.

        Raises:
            HttpError: a page cannot be read, or the cursors lead nowhere (code ``bad_page``).
        """
        before = ""
        while True:
            page = self._page(path, {**query, "limit": str(limit), "before": before})
            yield page["items"]
            if not page["hasMore"]:
                return
            if not page["next"] or page["next"] == before:
                raise HttpError(200, "bad_page", "a page says hasMore, but its cursor leads nowhere")
            before = page["next"]

    def _page(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        return self.get(path, {name: value for name, value in query.items() if value})

    def close(self) -> None:
        """Close the kept connections."""
        self._pool.clear()

    def _request(self, method: str, target: str, body: bytes | None) -> Any:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token()}"
        try:
            answer = self._pool.request(method, self._url + target, body=body, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise HttpError(0, "unreachable", f"{self._url} does not answer ({type(error).__name__})") from None
        try:
            content = json.loads(answer.data) if answer.data else {}
        except ValueError:
            content = {}
        if 200 <= answer.status < 300:
            return content
        raise _http_error(answer, content)


def _room_path(room: str) -> str:
    return f"/rooms/{quote(room, safe='')}/messages"


def _window(start: str | None, end: str | None) -> dict[str, str]:
    return {"from": start or "", "to": end or ""}


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise HttpError(200, "bad_answer", "an answer came that is no object")
    return content


def _http_error(answer: urllib3.BaseHTTPResponse, content: Any) -> HttpError:
    known = content.get("error") if isinstance(content, dict) else None
    error = known if isinstance(known, dict) else {}
    retry_after = answer.headers.get("Retry-After", "")
    return HttpError(
        answer.status,
        str(error.get("code", answer.status)),
        str(error.get("message", "no reason given")),
        float(retry_after) if retry_after.isdigit() else None,
    )


def fetch_token(token_url: str, user: str, scopes: list[str], ttl: int = 3600) -> str:
    """Ask the local stage's issuer for a token.

    Raises:
        TokenRefused: there is none to be had.
    """
    issuer = HttpApi(token_url)
    try:
        answer = issuer.post("", {"user": user, "scopes": scopes, "ttl": ttl})
        return str(answer["access_token"])
    except (HttpError, KeyError) as error:
        raise TokenRefused(f"no token for {user}: {error}") from None
    finally:
        issuer.close()
