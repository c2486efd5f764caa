"""An adapter for pika's connection that reads and writes its socket only inside its methods.

pika's own adapters run an I/O loop all the time. Here nothing may run between two invocations, and a request waits only
for its publish and the confirm, which take two system calls. pika implements the protocol, as for any adapter. An
adapter implements the ``_adapter_*`` methods of ``Connection``, according to its documentation.
"""

from __future__ import annotations

import math
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from pika.connection import Connection, Parameters
from pika.exceptions import StreamLostError
from pika.frame import Method
from pika.spec import FRAME_BODY, FRAME_END, FRAME_HEADER, Basic

CHUNK = 65_536
_BUSY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_FRAME = struct.Struct(">BHI")
_HEADER = struct.Struct(">HxxQ")
_ACK = struct.Struct(">11sQ?B")
_ACK_START = Method(1, Basic.Ack()).marshal()[:11]
"""How the frame of a confirm begins, of a connection's first channel."""


def _frame(kind: int, channel: int, payload: bytes) -> bytes:
    return b"%b%b%c" % (_FRAME.pack(kind, channel, len(payload)), payload, FRAME_END)


class Timer(NamedTuple):
    """A callback that is due at ``at`` (monotonic)."""

    at: float
    callback: Callable[[], object]


class BlockingSocketConnection(Connection):
    """A connection to ``endpoint``. Its socket opens in the constructor, before ``deadline`` (monotonic).

    ``on_open`` and ``on_closed`` are called from :meth:`receive`, and so is ``on_settled`` with a confirm that comes
    alone. Others reach the callbacks of pika's channel.

    Raises:
        OSError: no answer before ``deadline``, or the TLS handshake failed.
    """

    def __init__(
        self,
        endpoint: Parameters,
        deadline: float,
        on_open: Callable[[Any], object],
        on_closed: Callable[[Any, BaseException], object],
        on_settled: Callable[[Basic.Ack | Basic.Nack], object],
    ) -> None:
        self._on_settled = on_settled
        self._timers: list[Timer] = []
        self._due = math.inf
        """When the first of the timers is due."""
        self._out = bytearray()
        self._ended = False
        super().__init__(endpoint, on_open, on_closed, on_closed, internal_connection_workflow=False)
        self._socket = open_socket(endpoint, deadline)
        self._poll = select.poll()
        self._wanted = select.POLLIN
        self._poll.register(self._socket, self._wanted)
        self._on_stream_connected()  # type: ignore[attr-defined]

    @property
    def unsent(self) -> int:
        """How many written bytes the socket has not accepted yet."""
        return len(self._out)

    def write(self, channel: int, method: bytes, properties: bytes, body: bytes) -> None:
        """Write a message of ``channel``: the frame ``method``, which publishes it, its header and its body.

        ``properties`` are the flags and the values of its ``BasicProperties``, encoded.
        """
        self._out += method
        self._out += _frame(FRAME_HEADER, channel, _HEADER.pack(Basic.INDEX, len(body)) + properties)
        size = self._body_max_length  # type: ignore[attr-defined]
        for at in range(0, len(body), size):
            self._out += _frame(FRAME_BODY, channel, body[at : at + size])

    def send(self) -> None:
        """Send written bytes, as many as the socket accepts without blocking."""
        try:
            while self._out:
                sent = self._socket.send(self._out)
                del self._out[:sent]
        except _BUSY:
            return
        except OSError as error:
            self._lose(StreamLostError(f"Stream connection lost: {error!r}"))

    def receive(self, deadline: float) -> None:
        """Wait until ``deadline`` (monotonic) for data, or for room to send; process it, and run due timers."""
        if self.is_closed:
            return
        try:
            if self._ready(deadline):
                self._read()
        except OSError as error:
            self._lose(StreamLostError(f"Stream connection lost: {error!r}"))
        if self._due <= time.monotonic():
            self._run_timers()
        if self._ended:
            self.send()
            self._lose(None)

    def _run_timers(self) -> None:
        now = time.monotonic()
        for timer in [each for each in self._timers if each.at <= now]:
            if timer in self._timers:  # an earlier one may have removed it
                self._adapter_remove_timeout(timer)
                timer.callback()

    def let_go(self) -> None:
        """Close the socket without AMQP's closing handshake, which a dead peer would never answer."""
        self._timers.clear()
        self._out.clear()
        self._socket.close()

    def _ready(self, deadline: float) -> bool:
        """Whether the socket has something to read, before ``deadline`` or the next timer."""
        wanted = select.POLLIN | select.POLLOUT if self._out else select.POLLIN
        if wanted != self._wanted:
            self._wanted = wanted
            self._poll.modify(self._socket, wanted)
        left = min(deadline, self._due) - time.monotonic()
        events = self._poll.poll(max(0, math.ceil(left * 1000)))
        return bool(events) and events[0][1] != select.POLLOUT

    def _read(self) -> None:
        more = True
        while more and not self._ended:
            try:
                data = self._socket.recv(CHUNK)
            except _BUSY:
                return
            if not data:
                self._lose(StreamLostError("Transport indicated EOF"))
                return
            self._process(data)
            # poll() does not see bytes that TLS has read and buffered.
            more = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def _process(self, data: bytes) -> None:
        # Most often it is one confirm, which takes a tenth of the time without pika's registry of callbacks.
        if len(data) == _ACK.size and data.startswith(_ACK_START) and not self._frame_buffer:  # type: ignore[attr-defined]
            _, tag, multiple, _ = _ACK.unpack(data)
            self.bytes_received += len(data)  # type: ignore[attr-defined]
            self._on_settled(Basic.Ack(tag, multiple))
        else:
            self._on_data_available(data)  # type: ignore[attr-defined]

    def _lose(self, error: Exception | None) -> None:
        """End the connection; without ``error``, pika knows the reason."""
        if self.is_closed:
            return
        self._ended = False
        self.let_go()
        self._on_stream_terminated(error)  # type: ignore[attr-defined]

    def _adapter_emit_data(self, data: bytes) -> None:
        self._out += data

    def _adapter_call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        timer = Timer(time.monotonic() + delay, callback)
        self._timers.append(timer)
        self._due = min(self._due, timer.at)
        return timer

    def _adapter_remove_timeout(self, timeout_id: object) -> None:
        self._timers = [timer for timer in self._timers if timer is not timeout_id]
        self._due = min((timer.at for timer in self._timers), default=math.inf)

    def _adapter_add_callback_threadsafe(self, callback: Callable[..., object]) -> None:
        self._adapter_call_later(0, callback)

    def _adapter_connect_stream(self) -> None:
        """Do nothing: the socket is already open."""

    def _adapter_disconnect_stream(self) -> None:
        # The socket closes later: pika is processing a frame, and the answer to a close is not sent yet.
        self._ended = True


def open_socket(endpoint: Parameters, deadline: float) -> socket.socket:
    """A non-blocking socket, connected to the first address of ``endpoint`` that answers.

    Raises:
        OSError: no address answered before ``deadline`` (monotonic); the error is the last address's.
    """
    failure: OSError = TimeoutError("no address answered in time")
    addresses = _resolve(str(endpoint.host), int(endpoint.port), deadline)
    for left, (family, kind, protocol, _, address) in zip(range(len(addresses), 0, -1), addresses, strict=True):
        try:
            plain = socket.socket(family, kind, protocol)
        except OSError as error:  # such as on a machine without IPv6
            failure = error
            continue
        try:
            plain.settimeout(max(0.001, (deadline - time.monotonic()) / left))
            plain.connect(address)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            spoken = _with_tls(plain, endpoint, deadline)
        except OSError as error:
            plain.close()
            failure = error
        else:
            spoken.setblocking(False)
            return spoken
    raise failure


def _with_tls(plain: socket.socket, endpoint: Parameters, deadline: float) -> socket.socket:
    tls = endpoint.ssl_options
    if tls is None:
        return plain
    plain.settimeout(max(0.001, deadline - time.monotonic()))
    return tls.context.wrap_socket(plain, server_hostname=tls.server_hostname or str(endpoint.host))


def _resolve(host: str, port: int, deadline: float) -> list[Any]:
    """The addresses of ``host``. A resolver has no timeout, so a thread waits for it instead of the request."""
    found: Future[list[Any]] = Future()

    def ask() -> None:
        try:
            found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.set_exception(error if isinstance(error, OSError) else OSError(str(error)))

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    return found.result(max(0.0, deadline - time.monotonic()))
