"""The HTTP that awslambdaric speaks, byte by byte."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from localstage.functions import runtime_api
from localstage.functions.payloads import MAX_RESPONSE

KEY = "k3y"
NEXT = b"GET /k3y/2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n"


def post(path: str, body: bytes, *, header: bytes = b"content-length") -> bytes:
    head = f"POST /{KEY}/2018-06-01/runtime/{path} HTTP/1.1\r\nHost: x\r\n".encode()
    return head + header + b": %d\r\n\r\n" % len(body) + body


class Recorder:
    """A runtime that records its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def connected(self, connection: runtime_api.Connection) -> None: ...

    def disconnected(self, connection: runtime_api.Connection) -> None:
        self.calls.append("disconnected")

    def ask_next(self, connection: runtime_api.Connection) -> None:
        self.calls.append("next")

    def answer(self, request_id: str, payload: bytes | None, *, failed: bool) -> bytes:
        self.calls.append((request_id, payload, failed))
        return runtime_api.ACCEPTED

    def fail_init(self, payload: bytes) -> bytes:
        self.calls.append(("init", payload))
        return runtime_api.ACCEPTED


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.aborted = False

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def runtime() -> Recorder:
    return Recorder()


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def connection(runtime: Recorder, transport: Transport) -> runtime_api.Connection:
    made = runtime_api.Connection(runtime, KEY)
    made.connection_made(transport)
    return made


@pytest.mark.parametrize("step", [1, 2, 7, 50, 10_000])
def test_requests_are_understood_however_the_bytes_arrive(
    connection: runtime_api.Connection, runtime: Recorder, transport: Transport, step: int
) -> None:
    stream = NEXT + post("invocation/id-1/response", b'{"a":\r\n\r\n1}', header=b"Content-Length")
    stream += NEXT + post("invocation/id-2/error", b"{}") + post("init/error", b"[]")

    for start in range(0, len(stream), step):
        connection.data_received(stream[start : start + step])

    assert runtime.calls == [
        "next",
        ("id-1", b'{"a":\r\n\r\n1}', False),
        "next",
        ("id-2", b"{}", True),
        ("init", b"[]"),
    ]
    assert transport.sent == runtime_api.ACCEPTED * 3


def test_a_response_over_the_limit_is_read_to_its_end_and_discarded(
    connection: runtime_api.Connection, runtime: Recorder
) -> None:
    body = b"x" * (MAX_RESPONSE + 1)
    stream = post("invocation/id-1/response", body) + NEXT

    for start in range(0, len(stream), 1 << 20):
        connection.data_received(stream[start : start + (1 << 20)])

    assert runtime.calls == [("id-1", None, False), "next"]


def test_an_unknown_path_is_not_found(connection: runtime_api.Connection, transport: Transport) -> None:
    connection.data_received(b"GET /k3y/2020-01-01/extension/register HTTP/1.1\r\n\r\n")

    assert transport.sent.startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize("start", [b"", b"/", b"/k3", b"/K3Y", b"/guess"])
def test_a_process_without_the_key_is_refused(
    connection: runtime_api.Connection, runtime: Recorder, transport: Transport, start: bytes
) -> None:
    stranger = NEXT.replace(b"/k3y", start)

    connection.data_received(stranger + post("init/error", b"{}").replace(b"/k3y", start))

    assert transport.sent.count(b"HTTP/1.1 403 ") == 2
    assert runtime.calls == []


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"POST /k3y/2018-06-01/runtime/invocation/1/response HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * (2 * 1024 * 1024 + 1),
    ],
)
def test_http_of_another_form_than_awslambdarics_ends_the_connection(
    connection: runtime_api.Connection, runtime: Recorder, transport: Transport, data: bytes
) -> None:
    connection.data_received(data)

    assert transport.aborted
    assert runtime.calls == []


def test_an_event_is_handed_over_with_lambdas_headers() -> None:
    response = runtime_api.next_event("id-1", 1700000000123, "arn:fn", "Root=1", b'{"a":1}')

    head, _, body = response.partition(b"\r\n\r\n")
    assert body == b'{"a":1}'
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
    assert {
        b"Lambda-Runtime-Aws-Request-Id: id-1",
        b"Lambda-Runtime-Deadline-Ms: 1700000000123",
        b"Lambda-Runtime-Invoked-Function-Arn: arn:fn",
        b"Lambda-Runtime-Trace-Id: Root=1",
        b"Content-Length: 7",
    } <= set(head.split(b"\r\n"))
