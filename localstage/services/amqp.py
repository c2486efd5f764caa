"""Logs in to a broker with the first four frames of AMQP 0-9-1, to check that it runs and accepts a password."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

from pika import frame, spec

_HEADER = b"AMQP\x00\x00\x09\x01"
_FRAME_END = 1
_FRAME_HEAD = 7
_FRAME_MAX = 131_072


class LoginRefused(Exception):
    """The broker refuses this user and password."""


@dataclass(frozen=True)
class Greeting:
    """What a broker reports about itself."""

    product: str
    version: str


async def log_in(host: str, port: int, username: str, password: str, *, tls: ssl.SSLContext | None = None) -> Greeting:
    """Log in with PLAIN and disconnect.

    Raises:
        LoginRefused: the broker refuses the user or the password.
        OSError, EOFError: no server listens there, or it is not (or not yet) a broker.
    """
    reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    try:
        writer.write(_HEADER)
        start = await _method(reader)
        if not isinstance(start, spec.Connection.Start):
            raise EOFError("not an AMQP 0-9-1 broker")
        # With this capability a broker reports a refusal instead of closing the connection after a pause.
        capable = {"capabilities": {"authentication_failure_close": True}}
        answer = spec.Connection.StartOk(capable, "PLAIN", f"\0{username}\0{password}", "en_US")
        writer.write(frame.Method(0, answer).marshal())
        if isinstance(await _method(reader), spec.Connection.Close):
            raise LoginRefused
        said = start.server_properties or {}
        return Greeting(_text(said.get("product")), _text(said.get("version")))
    finally:
        writer.close()


async def _method(reader: asyncio.StreamReader) -> object:
    head = await reader.readexactly(_FRAME_HEAD)
    size = int.from_bytes(head[3:7])
    if size > _FRAME_MAX:
        raise EOFError("not an AMQP 0-9-1 broker")
    rest = await reader.readexactly(size + _FRAME_END)
    _, decoded = frame.decode_frame(head + rest)
    return decoded.method if isinstance(decoded, frame.Method) else decoded


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")
