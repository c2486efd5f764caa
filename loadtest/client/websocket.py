"""A blocking WebSocket connection, for threads or gevent greenlets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import websocket

from headrace_client.blocking import repeated
from localstage.client.errors import ClientError
from localstage.client.http_api import REPEATING

SUBPROTOCOL = "headrace.v1"


class ConnectionRefused(ClientError):
    """The WebSocket API rejects this token (401 or 403). Another attempt would have the same result."""


class ConnectionLost(ClientError):
    """The WebSocket could not be opened, or was closed."""


class NoAnswer(ClientError):
    """A frame was not answered in time."""


class WebSocket:
    """A WebSocket connection as one user, which can be opened again. Times are in seconds.

    ``token`` is called for each connection, so that none is opened with an expired token.
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
        """Connect, with the token as a subprotocol: the only place where a browser can put it.

        Raises:
            ConnectionRefused: the token is rejected.
            ConnectionLost: the API cannot be reached or does not accept connections now.
        """
        self.close()
        # receive() checks the UTF-8; the check of the library is a slow loop over every byte.
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

    def open_patiently(self) -> None:
        """Connect; again after pauses while the stage does not take it, such as when many open at once or it restarts.

        Raises:
            ConnectionRefused: the token is rejected.
            ConnectionLost: all attempts failed.
        """
        repeated(self.open, REPEATING, lambda error: isinstance(error, ConnectionLost))

    def close(self) -> None:
        """Close the connection, if it is open. Raises nothing."""
        closing, self._socket = self._socket, None
        if closing is not None:
            with suppress(websocket.WebSocketException, OSError):
                closing.close(timeout=1)
            closing.shutdown()  # type: ignore[no-untyped-call]

    def send(self, frame: str) -> None:
        """Send one text frame.

        Raises:
            ConnectionLost: the connection was closed; the frame may have arrived.
        """
        if self._socket is None:
            raise ConnectionLost("the WebSocket is not open")
        try:
            self._socket.send_text(frame)
        except (websocket.WebSocketException, OSError) as error:
            self.close()
            raise ConnectionLost(f"the connection was lost while sending: {error}") from None

    def receive(self) -> dict[str, Any]:
        """Return the next answer.

        Raises:
            NoAnswer: there was none within the timeout; the connection stays open.
            ConnectionLost: the connection was closed, or the answer is not JSON.
        """
        if self._socket is None:
            raise ConnectionLost("the WebSocket is not open")
        try:
            opcode, data = self._socket.recv_data()
        except websocket.WebSocketTimeoutException:
            raise NoAnswer(f"no answer within {self._timeout:g} s") from None
        except (websocket.WebSocketException, OSError) as error:
            self.close()
            raise ConnectionLost(f"the connection was lost: {error}") from None
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            self.close()
            code = int.from_bytes(data[:2], "big") if len(data) >= 2 else 1005
            raise ConnectionLost(f"the platform closed the connection with {code}")
        try:
            answer = json.loads(data)
        except ValueError:
            self.close()
            raise ConnectionLost("the answer is not JSON") from None
        return answer if isinstance(answer, dict) else {"type": "unknown"}

    def request(self, frame: Mapping[str, Any]) -> dict[str, Any]:
        """Send one frame and return its answer, matched by ``requestId`` where the frame has one."""
        self.send(json.dumps(frame, ensure_ascii=False))
        wanted = frame.get("requestId")
        while True:
            answer = self.receive()
            if wanted is None or answer.get("requestId") == wanted:
                return answer
