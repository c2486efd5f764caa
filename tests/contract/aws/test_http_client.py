"""Requests over kept connections, against a server that closes, stalls and breaks them."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.aws import http_client
from headrace.aws.http_client import HttpClient, Response
from headrace.aws.http_connection import Target
from tests.contract.http_server import HttpServer, Received, certificate_of, status
from tests.worlds.ports import free_port

MANY = 2_000_000


@pytest.fixture
def server() -> Iterator[HttpServer]:
    made = HttpServer()
    made.answer = echo
    yield made
    made.close()


@pytest.fixture
def http(server: HttpServer) -> HttpClient:
    return HttpClient(Target(f"http://127.0.0.1:{server.port}"), most=4)


def echo(request: Received) -> bytes:
    return status(200, request.body)


def request(body: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def post(http: HttpClient, body: bytes = b"{}", seconds: float = 30.0, repeatable: bool = False) -> Response:
    return http.send(request(body), seconds, repeatable=repeatable)


def test_requests_share_one_connection(server: HttpServer, http: HttpClient) -> None:
    bodies = [str(number).encode() for number in range(20)]

    assert [post(http, body).body for body in bodies] == bodies
    assert server.connections == 1


def test_a_body_of_megabytes_arrives_whole(http: HttpClient) -> None:
    body = bytes(range(256)) * (MANY // 256)

    answer = post(http, body)

    assert (answer.status, answer.body == body) == (200, True)


@pytest.mark.parametrize("size", [1, 7, 65_536])
@pytest.mark.parametrize("trailer", [b"", b"x-trailer: 1\r\n"])
def test_a_body_in_chunks_is_read(server: HttpServer, http: HttpClient, size: int, trailer: bytes) -> None:
    body = bytes(range(256)) * 40
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    encoded = b"".join(b"%X;name=value\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    server.answer = lambda _request: (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + encoded + b"0\r\n" + trailer + b"\r\n"
    )

    assert [post(http).body == body for _ in range(3)] == [True, True, True]
    assert server.connections == 1


def test_a_chunk_without_a_size_is_refused(server: HttpServer, http: HttpClient) -> None:
    server.answer = lambda _request: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"

    with pytest.raises(OSError, match="not an HTTP response"):
        post(http)


def test_threads_have_connections_of_their_own_of_which_some_are_kept(server: HttpServer, http: HttpClient) -> None:
    together = threading.Barrier(9)

    def wait(received: Received) -> bytes:
        together.wait(30)
        return echo(received)

    server.answer = wait
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda own=number: found.append(post(http, b"%d" % own).body)) for number in range(9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.answer = echo
    for _ in range(9):
        post(http)

    assert sorted(found) == [b"%d" % number for number in range(9)]
    assert server.connections == 9


def test_a_connection_that_was_closed_while_idle_is_not_used(server: HttpServer, http: HttpClient) -> None:
    post(http)
    server.hang_up()
    time.sleep(0.05)

    assert post(http, b"again").body == b"again"
    assert [each.body for each in server.received] == [b"{}", b"again"]


def test_a_connection_that_idled_for_long_is_not_used(
    server: HttpServer, http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(http)
    monkeypatch.setattr(http_client, "IDLE_SECONDS", 0.0)
    post(http)

    assert server.connections == 2


@pytest.mark.parametrize("repeatable", [True, False])
def test_only_a_repeatable_request_is_sent_again_when_a_kept_connection_breaks(
    server: HttpServer, http: HttpClient, repeatable: bool
) -> None:
    """The server closes the connection when it has received the request, as if that had crossed its closing."""
    post(http)
    server.answer = lambda _: b"" if len(server.received) == 2 else status(200, b"answer")

    if repeatable:
        assert post(http, repeatable=True).body == b"answer"
    else:
        with pytest.raises(ConnectionError):
            post(http)
    assert len(server.received) == (3 if repeatable else 2)


def test_a_request_whose_answer_began_is_not_sent_again(server: HttpServer, http: HttpClient) -> None:
    post(http)
    server.answer = lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" if len(server.received) > 2 else b"HTTP"

    def hang_up() -> None:
        while len(server.received) < 2:
            time.sleep(0.01)
        time.sleep(0.1)
        server.hang_up()

    thread = threading.Thread(target=hang_up)
    thread.start()
    with pytest.raises(ConnectionError):
        post(http, repeatable=True)
    thread.join()

    assert len(server.received) == 2


def test_a_new_connection_that_breaks_is_an_error(server: HttpServer, http: HttpClient) -> None:
    server.answer = lambda _: b""

    with pytest.raises(ConnectionError):
        post(http, repeatable=True)
    assert len(server.received) == 1


def test_a_silent_server_is_given_up_and_not_asked_again(server: HttpServer, http: HttpClient) -> None:
    post(http)
    server.answer = lambda _: None

    with pytest.raises(TimeoutError):
        post(http, seconds=0.05, repeatable=True)
    server.answer = echo

    assert post(http, b"new").body == b"new"
    assert (len(server.received), server.connections) == (3, 2)


def test_an_answer_without_a_length_is_no_answer_to_use(server: HttpServer, http: HttpClient) -> None:
    server.answer = lambda _: b"HTTP/1.1 200 OK\r\n\r\n{}"

    assert post(http).body == b""
    post(http)
    assert server.connections == 2


def test_the_second_address_is_tried_when_the_first_refuses(server: HttpServer) -> None:
    """localhost is ::1 first, where nothing listens."""
    http = HttpClient(Target(f"http://localhost:{server.port}"))

    assert [post(http, body).body for body in (b"1", b"2")] == [b"1", b"2"]


def test_a_refused_connection_is_an_error() -> None:
    with pytest.raises(ConnectionRefusedError):
        post(HttpClient(Target(f"http://127.0.0.1:{free_port()}")))


def test_a_host_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(socket.gaierror):
        post(HttpClient(Target("http://nowhere.invalid")))


def test_the_certificate_of_the_host_is_verified(tmp_path: Path) -> None:
    certificate, context = certificate_of(tmp_path)
    server = HttpServer(context)
    server.answer = echo
    url = f"https://localhost:{server.port}"
    http = HttpClient(Target(url, ssl.create_default_context(cafile=str(certificate))), connect_seconds=30)
    body = b"x" * MANY

    assert [post(http, body).body == body for _ in range(2)] == [True, True]
    assert server.connections == 1
    with pytest.raises(ssl.SSLCertVerificationError):
        post(HttpClient(Target(url), connect_seconds=30))
    server.close()
