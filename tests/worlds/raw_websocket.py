"""WebSocket frames as bytes, right or wrong, on a connection that was opened in the usual way."""

from __future__ import annotations

import json
import struct
from typing import Any

import websocket

from loadtest.client.websocket import SUBPROTOCOL

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MASK = b"\x01\x02\x03\x04"
NO_CODE = 1005
LOST = 1006
"""The connection ended without a close frame."""


def frame(opcode: int, payload: bytes = b"", *, final: bool = True, masked: bool = True, reserved: int = 0) -> bytes:
    """One frame; ``reserved`` are the three reserved bits."""
    first = (0x80 if final else 0) | reserved << 4 | opcode
    mask = 0x80 if masked else 0
    if len(payload) < 126:
        head = bytes([first, mask | len(payload)])
    elif len(payload) < 65536:
        head = bytes([first, mask | 126]) + struct.pack(">H", len(payload))
    else:
        head = bytes([first, mask | 127]) + struct.pack(">Q", len(payload))
    if not masked:
        return head + payload
    return head + MASK + bytes(byte ^ MASK[index % 4] for index, byte in enumerate(payload))


def text(body: Any) -> bytes:
    """A text frame with JSON."""
    return frame(TEXT, json.dumps(body).encode())


class RawConnection:
    """An open connection that sends any bytes."""

    def __init__(self, url: str, token: str, timeout: float = 60.0) -> None:
        self._socket = websocket.create_connection(url, timeout=timeout, subprotocols=[SUBPROTOCOL, token])

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown()  # type: ignore[no-untyped-call]

    def send(self, data: bytes) -> None:
        """Send bytes; a connection that is closed already is seen by :meth:`receive`."""
        try:
            self._socket.sock.sendall(data)
        except OSError:
            return

    def receive(self) -> Any:
        """The next answer as JSON, ``b"…"`` for a pong, or the code with which the connection was closed."""
        try:
            found = self._socket.recv_frame()
        except (websocket.WebSocketConnectionClosedException, ConnectionError):
            return LOST
        if found.opcode == CLOSE:
            return int.from_bytes(found.data[:2], "big") if found.data else NO_CODE
        return found.data if found.opcode in (PING, PONG) else json.loads(found.data)

    def until_end(self, request_id: str) -> Any:
        """The answer with ``request_id``, or the code with which the connection was closed before it."""
        while True:
            found = self.receive()
            if isinstance(found, int) or (isinstance(found, dict) and found.get("requestId") == request_id):
                return found
