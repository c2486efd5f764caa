"""An HTTP server that imitates an AWS service and its failures."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from headrace.runtime.aws import tls_context

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def status(code: int, body: bytes = b'{"message":"x"}') -> bytes:
    return b"HTTP/1.1 %d Nope\r\nContent-Type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        code,
        len(body),
        body,
    )


@dataclass
class Received:
    """One received request."""

    connection_id: str
    method: str
    headers: dict[str, str]
    body: bytes
    path: str


Answer = Callable[[Received], bytes | Iterator[bytes] | None]


class HttpServer:
    """An HTTP server that sends the bytes or parts of ``answer``; ``None`` is no answer, b"" ends the connection."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.answer: Answer = lambda _request: OK
        self.connections = 0
        self._context = context
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._open: list[socket.socket] = []
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                made, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(made)
            threading.Thread(target=self._serve, args=(made,), daemon=True).start()

    def _serve(self, made: socket.socket) -> None:
        try:
            if self._context is not None:
                made = self._context.wrap_socket(made, server_side=True)
            stream = made.makefile("rb")
            while line := stream.readline():
                headers = {}
                while (header := stream.readline()) != b"\r\n":
                    name, _, value = header.decode().partition(":")
                    headers[name.lower()] = value.strip()
                method, path, _ = line.decode().split()
                body = stream.read(int(headers.get("content-length", 0)))
                request = Received(unquote(path.rpartition("/")[2]), method, headers, body, path)
                self.received.append(request)
                answer = self.answer(request)
                if answer == b"":
                    break
                for part in [answer] if isinstance(answer, bytes) else answer or ():
                    made.sendall(part)
        except OSError:
            pass
        finally:
            made.close()

    def hang_up(self) -> None:
        """Close all open connections."""
        while self._open:
            with contextlib.suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.close()
        self.hang_up()


def certificate_of(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate of localhost, and the context of a server that has it."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    more = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *more], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return certificate, server


@contextlib.contextmanager
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment of a function that trusts ``certificate`` instead of the system's certificates."""
    with monkeypatch.context() as patched:
        patched.setenv("AWS_CA_BUNDLE", str(certificate))
        tls_context.cache_clear()
        yield
    tls_context.cache_clear()
