"""Pushes over pooled connections, against a server that imitates API Gateway and its failures."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from headrace.core.times import SystemClock
from headrace.live.push.api_gateway import ApiGatewayPusher
from headrace.live.push.connection_pool import ConnectionPool
from headrace.live.push.http_connection import Target
from headrace.live.push.port import Push
from headrace.live.push.sigv4 import Signer
from tests.worlds.ports import free_port

KEYS = ReadOnlyCredentials("AKID", "secret", "a+session/token==")
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
    headers: dict[str, str]
    body: bytes
    path: str


Answer = Callable[[Received], bytes | None]


class Gateway:
    """An HTTP server that sends the bytes of ``answer``; ``None`` sends nothing, b"" closes the connection."""

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
                path = line.decode().split()[1]
                body = stream.read(int(headers["content-length"]))
                request = Received(unquote(path.rpartition("/")[2]), headers, body, path)
                self.received.append(request)
                answer = self.answer(request)
                if answer == b"":
                    break
                if answer is not None:
                    made.sendall(answer)
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


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    yield made
    made.close()


MakePusher = Callable[..., ApiGatewayPusher]


@pytest.fixture
def pusher(gateway: Gateway) -> Iterator[MakePusher]:
    made: list[ConnectionPool] = []

    def make(**options: float) -> ApiGatewayPusher:
        url = f"http://127.0.0.1:{gateway.port}/dev"
        made.append(ConnectionPool(Target(url), **options))  # type: ignore[arg-type]
        return ApiGatewayPusher(Signer(url, "us-east-1", lambda: KEYS, SystemClock()), made[-1])

    yield make
    for each in made:
        each.close()


def frames_by_connection(gateway: Gateway) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for request in gateway.received:
        found[request.connection_id].append(request.body)
    return found


def test_a_small_pool_sends_each_connection_its_frames_in_order(gateway: Gateway, pusher: MakePusher) -> None:
    made = pusher(most=8)

    for batch in range(3):
        sends = [Push(f"c{number}=", [b"%d.1" % batch, b"%d.2" % batch]) for number in range(100)]
        assert made.deliver(sends, 10) == ["sent"] * 100

    expected = [b"%d.%d" % (batch, part) for batch in range(3) for part in (1, 2)]
    assert frames_by_connection(gateway) == {f"c{number}=": expected for number in range(100)}
    assert gateway.connections <= 8


def test_a_request_is_signed_as_botocore_signs_it(
    gateway: Gateway, pusher: MakePusher, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pusher()
    made.deliver([Push("AbC-_9=", ['{"text":"grüße"}'.encode()])], 10)
    (request,) = gateway.received

    ours = AWSRequest("POST", f"http://127.0.0.1:{gateway.port}{request.path}", data=request.body)
    ours.context["timestamp"] = request.headers["x-amz-date"]
    ours.headers["X-Amz-Date"] = request.headers["x-amz-date"]
    ours.headers["X-Amz-Security-Token"] = KEYS.token
    botocore = SigV4Auth(KEYS, "execute-api", "us-east-1")
    canonical = botocore.canonical_request(ours)
    signature = botocore.signature(botocore.string_to_sign(ours, canonical), ours)

    assert request.path == "/dev/@connections/AbC-_9%3D"
    assert request.headers["authorization"].endswith(f"Signature={signature}")
    assert request.headers["x-amz-security-token"] == KEYS.token


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (status(410), "gone"),
        (status(403), "refused"),
        (status(413), "refused"),
        (status(204, b""), "sent"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "sent"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "sent"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, "sent"),
        (b"not http at all\r\n\r\n", "late"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "late"),
        (b"", "late"),
    ],
)
def test_statuses_of_api_gateway_become_push_results(
    gateway: Gateway, pusher: MakePusher, answer: bytes, verdict: str
) -> None:
    gateway.answer = lambda request: answer if request.connection_id == "odd" else OK

    sends = [Push("a", [b"1"]), Push("odd", [b"1", b"2"] if verdict != "sent" else [b"1"]), Push("b", [b"1"])]

    assert pusher().deliver(sends, 10) == ["sent", verdict, "sent"]
    assert pusher().deliver(sends, 10) == ["sent", verdict, "sent"]
    if verdict != "sent":
        assert b"2" not in frames_by_connection(gateway)["odd"]


def test_a_throttled_push_is_retried_a_few_times(gateway: Gateway, pusher: MakePusher) -> None:
    tries: dict[str, int] = defaultdict(int)

    def busy(request: Received) -> bytes:
        tries[request.connection_id] += 1
        return OK if request.connection_id == "short" and tries["short"] > 2 else status(429)

    gateway.answer = busy

    assert pusher().deliver([Push("short", [b"1"]), Push("long", [b"1"])], 10) == ["sent", "late"]
    assert tries == {"short": 3, "long": 4}


def test_one_slow_client_delays_no_other_client(gateway: Gateway, pusher: MakePusher) -> None:
    gateway.answer = lambda request: None if request.connection_id == "slow" else OK
    made = pusher(most=4, each=60.0, patience=0.05)

    began = time.monotonic()
    results = made.deliver([Push("slow", [b"1"]), *(Push(f"c{number}", [b"1"]) for number in range(50))], 60)

    assert results == ["late", *["sent"] * 50]
    assert time.monotonic() - began < 30


def test_many_slow_clients_delay_others_only_until_their_timeout(gateway: Gateway, pusher: MakePusher) -> None:
    gateway.answer = lambda request: None if request.connection_id == "slow" else OK
    made = pusher(most=2, each=0.05, patience=0.05)

    results = made.deliver([*(Push("slow", [b"1"]) for _ in range(6)), Push("quick", [b"1"])], 60)

    assert results == [*["late"] * 6, "sent"]


def test_a_batch_ends_at_its_deadline(gateway: Gateway, pusher: MakePusher) -> None:
    gateway.answer = lambda _request: None
    made = pusher(most=2, each=60.0, patience=60.0)

    assert made.deliver([Push(f"c{number}", [b"1"]) for number in range(9)], 0.1) == ["late"] * 2 + ["unsent"] * 7


def test_connections_that_ended_while_idle_are_replaced(gateway: Gateway, pusher: MakePusher) -> None:
    made = pusher(most=4)
    sends = [Push(f"c{number}", [b"1"]) for number in range(20)]
    assert made.deliver(sends, 10) == ["sent"] * 20
    gateway.hang_up()

    assert made.deliver(sends, 10) == ["sent"] * 20


def test_an_unavailable_gateway_is_a_push_result() -> None:
    url = f"http://127.0.0.1:{free_port()}/dev"
    connections = ConnectionPool(Target(url))
    made = ApiGatewayPusher(Signer(url, "us-east-1", lambda: KEYS, SystemClock()), connections)

    assert made.deliver([Push("a", [b"1"]), Push("b", [])], 10) == ["late", "sent"]
    connections.close()


def test_the_certificate_of_the_host_is_verified(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    more = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *more], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    gateway = Gateway(server)
    url = f"https://localhost:{gateway.port}/dev"
    signer = Signer(url, "us-east-1", lambda: KEYS, SystemClock())
    sends = [Push(f"c{number}", [b"x" * 30_000, b"2"]) for number in range(20)]

    trusting = ConnectionPool(Target(url, ssl.create_default_context(cafile=str(certificate))), most=4, each=30.0)
    others = ConnectionPool(Target(url), most=4, each=30.0)

    assert ApiGatewayPusher(signer, trusting).deliver(sends, 60) == ["sent"] * 20
    assert ApiGatewayPusher(signer, trusting).deliver(sends, 60) == ["sent"] * 20
    assert gateway.connections <= 4
    assert ApiGatewayPusher(signer, others).deliver(sends[:1], 60) == ["late"]
    for each in (trusting, others):
        each.close()
    gateway.close()


def test_pushes_that_began_are_completed_before_others_begin(gateway: Gateway, pusher: MakePusher) -> None:
    """So at a deadline, few connections have only some of their frames."""
    made = pusher(most=1)

    assert made.deliver([Push(name, [b"1", b"2", b"3"]) for name in "ab"], 5) == ["sent"] * 2

    assert [each.connection_id for each in gateway.received] == ["a"] * 3 + ["b"] * 3
