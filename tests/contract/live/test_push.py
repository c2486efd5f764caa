"""Pushes over pooled connections, against a server that imitates API Gateway and its failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.credentials import Credentials

from headrace.core.times import SystemClock
from headrace.live.push.api_gateway import ApiGatewayPusher, Push, signer_of_posts
from headrace.live.push.connection_pool import ConnectionPool
from tests.contract.http_server import OK, HttpServer, Received, certificate_of, status, trusted
from tests.worlds.ports import free_port

KEYS = Credentials("AKID", "secret", "a+session/token==")


@pytest.fixture
def gateway() -> Iterator[HttpServer]:
    made = HttpServer()
    yield made
    made.close()


MakePusher = Callable[..., ApiGatewayPusher]


@pytest.fixture
def pusher(gateway: HttpServer) -> Iterator[MakePusher]:
    made: list[ConnectionPool] = []

    def make(**options: float) -> ApiGatewayPusher:
        url = f"http://127.0.0.1:{gateway.port}/dev"
        made.append(ConnectionPool(url, **options))  # type: ignore[arg-type]
        return ApiGatewayPusher(signer_of_posts(url, "us-east-1", KEYS, SystemClock()), made[-1])

    yield make
    for each in made:
        each.close()


def frames_by_connection(gateway: HttpServer) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for request in gateway.received:
        found[request.connection_id].append(request.body)
    return found


def test_a_small_pool_sends_each_connection_its_frames_in_order(gateway: HttpServer, pusher: MakePusher) -> None:
    made = pusher(most=8)

    for batch in range(3):
        sends = [Push(f"c{number}=", [b"%d.1" % batch, b"%d.2" % batch]) for number in range(100)]
        assert made.deliver(sends, 10) == ["sent"] * 100

    expected = [b"%d.%d" % (batch, part) for batch in range(3) for part in (1, 2)]
    assert frames_by_connection(gateway) == {f"c{number}=": expected for number in range(100)}
    assert gateway.connections <= 8


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (status(410), "gone"),
        (status(403), "refused"),
        (status(413), "refused"),
        (status(204, b""), "sent"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "sent"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "sent"),
        (b"not http at all\r\n\r\n", "late"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "sent"),
        (b"", "late"),
    ],
)
def test_statuses_of_api_gateway_become_push_results(
    gateway: HttpServer, pusher: MakePusher, answer: bytes, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway.answer = lambda request: answer if request.connection_id == "odd" else OK

    sends = [Push("a", [b"1"]), Push("odd", [b"1", b"2"] if verdict != "sent" else [b"1"]), Push("b", [b"1"])]

    assert pusher().deliver(sends, 10) == ["sent", verdict, "sent"]
    assert pusher().deliver(sends, 10) == ["sent", verdict, "sent"]
    assert ("Unexpected" in capsys.readouterr().out) == (verdict == "refused"), "no repetition mends it"
    if verdict != "sent":
        assert b"2" not in frames_by_connection(gateway)["odd"]


def test_a_throttled_push_is_retried_a_few_times(gateway: HttpServer, pusher: MakePusher) -> None:
    tries: dict[str, int] = defaultdict(int)

    def busy(request: Received) -> bytes:
        tries[request.connection_id] += 1
        return OK if request.connection_id == "short" and tries["short"] > 2 else status(429)

    gateway.answer = busy

    assert pusher().deliver([Push("short", [b"1"]), Push("long", [b"1"])], 10) == ["sent", "late"]
    assert tries == {"short": 3, "long": 4}


def test_one_slow_client_delays_no_other_client(gateway: HttpServer, pusher: MakePusher) -> None:
    gateway.answer = lambda request: None if request.connection_id == "slow" else OK
    made = pusher(most=4, each=3600.0)

    results = made.deliver([Push("slow", [b"1"]), *(Push(f"c{number}", [b"1"]) for number in range(50))], 3600)

    assert results == ["late", *["sent"] * 50]


def test_many_slow_clients_delay_others_only_until_their_timeout(gateway: HttpServer, pusher: MakePusher) -> None:
    gateway.answer = lambda request: None if request.connection_id == "slow" else OK
    made = pusher(most=2, each=0.05)

    results = made.deliver([*(Push("slow", [b"1"]) for _ in range(6)), Push("quick", [b"1"])], 60)

    assert results == [*["late"] * 6, "sent"]


def test_a_batch_ends_at_its_deadline(gateway: HttpServer, pusher: MakePusher) -> None:
    gateway.answer = lambda _request: None
    made = pusher(most=2, each=60.0, patience=60.0)

    assert made.deliver([Push(f"c{number}", [b"1"]) for number in range(9)], 0.1) == ["late"] * 2 + ["unsent"] * 7


def test_connections_that_ended_while_idle_are_replaced(gateway: HttpServer, pusher: MakePusher) -> None:
    made = pusher(most=4)
    sends = [Push(f"c{number}", [b"1"]) for number in range(20)]
    assert made.deliver(sends, 10) == ["sent"] * 20
    gateway.hang_up()

    assert made.deliver(sends, 10) == ["sent"] * 20


def test_an_unavailable_gateway_is_a_push_result() -> None:
    url = f"http://127.0.0.1:{free_port()}/dev"
    connections = ConnectionPool(url)
    made = ApiGatewayPusher(signer_of_posts(url, "us-east-1", KEYS, SystemClock()), connections)

    assert made.deliver([Push("a", [b"1"]), Push("b", [])], 10) == ["late", "sent"]
    connections.close()


def test_the_certificate_of_the_host_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, server = certificate_of(tmp_path)
    gateway = HttpServer(server)
    url = f"https://localhost:{gateway.port}/dev"
    signer = signer_of_posts(url, "us-east-1", KEYS, SystemClock())
    sends = [Push(f"c{number}", [b"x" * 30_000, b"2"]) for number in range(20)]
    trusting, others = (ConnectionPool(url, most=4, each=30.0) for _ in range(2))

    with trusted(certificate, monkeypatch):
        assert ApiGatewayPusher(signer, trusting).deliver(sends, 60) == ["sent"] * 20
        assert ApiGatewayPusher(signer, trusting).deliver(sends, 60) == ["sent"] * 20
    assert gateway.connections <= 4
    assert ApiGatewayPusher(signer, others).deliver(sends[:1], 60) == ["late"]
    for each in (trusting, others):
        each.close()
    gateway.close()


def test_pushes_that_began_are_completed_before_others_begin(gateway: HttpServer, pusher: MakePusher) -> None:
    """So at a deadline, few connections have only some of their frames."""
    made = pusher(most=1)

    assert made.deliver([Push(name, [b"1", b"2", b"3"]) for name in "ab"], 5) == ["sent"] * 2

    assert [each.connection_id for each in gateway.received] == ["a"] * 3 + ["b"] * 3
