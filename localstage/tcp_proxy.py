"""A TCP relay in front of a real server, which can swallow, cut or delay what passes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Relay:
    """Relays to ``port`` on loopback; listens on its own ``port``."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.connections = 0
        self.to_client: Callable[[bytes], bytes | None] = bytes
        """What of an answer passes: ``None`` cuts the connection, ``b""`` swallows it."""
        self.to_server: Callable[[bytes], bytes | None] = bytes
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def _run(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                self._run(self._pump, client, server, "to_server")
                self._run(self._pump, server, client, "to_client")

    def _pump(self, source: socket.socket, sink: socket.socket, direction: str) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                passed = getattr(self, direction)(data)
                if passed is None:
                    break
                sink.sendall(passed)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Cut every connection that there is; new ones pass."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def pass_all(self) -> None:
        self.to_client = self.to_server = bytes

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)
        for each in self._sockets:
            each.close()
