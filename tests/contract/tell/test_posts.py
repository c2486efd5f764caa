"""P14: webhooks on the network: who may be called, what a receiver gets, and what it may answer."""

from __future__ import annotations

import base64
import hmac
import socket
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from headrace.core.times import SECOND, SystemClock
from headrace.features.tell import posts as posting
from headrace.features.tell.posts import PREFIX, SECRET_MINUTES, Answer, Posts, Webhook, retry_after
from tests.contract.http_server import OK, HttpServer, certificate_of, status, trusted
from tests.fakes.clock import FixedClock
from tests.worlds.ports import free_port

OLD, NEW = (PREFIX + base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
LOCAL = [ip_network("127.0.0.0/8")]
NOON = 1_795_953_600.0
"""2026-11-29T12:00:00Z."""


@pytest.fixture
def receiver() -> Iterator[HttpServer]:
    made = HttpServer()
    yield made
    made.close()


MakePosts = Callable[..., Posts]


@pytest.fixture
def posts_to() -> Iterator[MakePosts]:
    made: list[Posts] = []

    def make(url: str, addresses: Any = LOCAL, secrets: Any = lambda: [NEW], clock: Any = None, **more: Any) -> Posts:
        made.append(Posts(url, addresses, secrets, clock or SystemClock(), **more))
        return made[-1]

    yield make
    for each in made:
        each.close()


def webhooks(count: int) -> list[Webhook]:
    return [Webhook(f"e{number}", b'{"n":%d}' % number) for number in range(count)]


def has_signature(request: Any, secret: str) -> bool:
    """Whether a request verifies, as in the specification."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    wanted = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
    return any(hmac.compare_digest(each.encode(), wanted) for each in request.headers["webhook-signature"].split(" "))


def test_a_receiver_gets_each_webhook_whole_and_signed(receiver: HttpServer, posts_to: MakePosts) -> None:
    posts = posts_to(f"http://127.0.0.1:{receiver.port}/hook?stage=prod&x=1")

    assert posts.post(webhooks(10)) == [Answer(200)] * 10

    assert sorted(each.headers["webhook-id"] for each in receiver.received) == [f"e{number}" for number in range(10)]
    for each in receiver.received:
        assert each.body == b'{"n":%s}' % each.headers["webhook-id"][1:].encode()
        assert each.path == "/hook?stage=prod&x=1"
        assert each.headers["content-type"] == "application/json"
        assert each.headers["host"] == f"127.0.0.1:{receiver.port}"
        assert abs(int(each.headers["webhook-timestamp"]) - time.time()) < 60
        assert has_signature(each, NEW)
        assert not has_signature(each, OLD)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (formatdate(NOON + 3600, usegmt=True), 3600),
        ("Sun, 29 Nov 2015 19:58:00 GMT", 0),
        ("soon", 0),
        ("Sun, 29 Nov 0 20:00:00 +9999", 0),
        ("9" * 5000, 0),
    ],
    ids=["in an hour", "past", "no date", "no year", "too many digits"],
)
def test_a_receiver_names_a_pause_by_a_number_or_a_date(
    given: str, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: NOON)

    assert retry_after(given) == seconds


def test_after_a_rotation_both_secrets_sign_until_the_older_one_is_removed(
    receiver: HttpServer, posts_to: MakePosts
) -> None:
    known, clock = [OLD], FixedClock(1_763_719_259 * SECOND)
    posts = posts_to(f"http://127.0.0.1:{receiver.port}", secrets=lambda: list(known), clock=clock)
    verified = []
    for secrets in ([OLD], [NEW, OLD], [NEW]):
        known[:] = secrets
        clock.advance(SECRET_MINUTES * 60)
        posts.post(webhooks(1))
        verified.append([has_signature(receiver.received[-1], secret) for secret in (OLD, NEW)])

    assert verified == [[True, False], [True, True], [False, True]]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (status(204, b""), Answer(204)),
        (b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", Answer(202)),
        (b"HTTP/1.0 200 OK\r\n\r\nthanks", Answer(200)),
        (status(500), Answer(500, "HTTP 500")),
        (status(410), Answer(410, "HTTP 410")),
        (b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n", Answer(302, "HTTP 302")),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", Answer(204)),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 2 + status(500), Answer(500, "HTTP 500")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000, Answer(0, "no answer")),
        (b"HTTP/1.1 429 No\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n", Answer(429, "HTTP 429", 120)),
        (b"HTTP/1.1 503 No\r\nretry-after:7\r\nContent-Length: 0\r\n\r\n", Answer(503, "HTTP 503", 7)),
        (b"HTTP/1.1 503 No\r\nRetry-After: \t60 \r\nContent-Length: 0\r\n\r\n", Answer(503, "HTTP 503", 60)),
        (b"HTTP/1.1 503 No\r\nRetry-After: Fri, 21 Nov\r\nContent-Length: 0\r\n\r\n", Answer(503, "HTTP 503")),
        (b"HTTP/1.1 503 No\r\nRetry-After: -1\r\nContent-Length: 0\r\n\r\n", Answer(503, "HTTP 503")),
        (b"HTTP/1.1 500 No\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n", Answer(500, "HTTP 500")),
        (b"SSH-2.0-OpenSSH\r\n\r\n", Answer(0, "no answer")),
        (b"X" * 100_000, Answer(0, "no answer")),
        (b"", Answer(0, "no answer")),
    ],
)
def test_only_a_status_of_success_is_one_and_no_redirect_is_followed(
    receiver: HttpServer, posts_to: MakePosts, answer: bytes, expected: Answer
) -> None:
    receiver.answer = lambda _: answer

    assert posts_to(f"http://127.0.0.1:{receiver.port}/").post(webhooks(1)) == [expected]
    assert {each.path for each in receiver.received} == {"/"}


def test_the_body_of_an_answer_is_neither_waited_for_if_it_is_long_nor_logged(
    receiver: HttpServer, posts_to: MakePosts, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.answer = lambda _: b"HTTP/1.1 500 No\r\nContent-Length: 999999999\r\n\r\n" + b"secret " * 100_000
    began = time.monotonic()

    assert posts_to(f"http://127.0.0.1:{receiver.port}/").post(webhooks(2)) == [Answer(500, "HTTP 500")] * 2

    assert time.monotonic() - began < posting.ANSWER_SECONDS
    assert "secret" not in capsys.readouterr().out


def test_a_receiver_that_answers_byte_by_byte_has_no_more_time_than_a_silent_one(
    monkeypatch: pytest.MonkeyPatch, posts_to: MakePosts
) -> None:
    """Each byte comes in time for a limit that begins again with it."""
    monkeypatch.setattr(posting, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        posts = posts_to(f"http://127.0.0.1:{server.getsockname()[1]}/")

        def drip() -> None:
            made, _ = server.accept()
            try:
                while True:
                    made.sendall(b"H")
                    time.sleep(0.05)
            except OSError:
                made.close()

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        assert posts.post(webhooks(1)) == [Answer(0, "no answer")]
        thread.join(10)
    assert not thread.is_alive(), "the connection was closed"


def test_a_receiver_that_is_away_or_silent_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, receiver: HttpServer, posts_to: MakePosts
) -> None:
    monkeypatch.setattr(posting, "ANSWER_SECONDS", 0.5)
    receiver.answer = lambda request: None if request.headers["webhook-id"] == "e1" else OK

    answers = posts_to(f"http://127.0.0.1:{receiver.port}/").post(webhooks(3))
    assert answers == [Answer(200), Answer(0, "no answer"), Answer(200)]
    assert posts_to(f"http://127.0.0.1:{free_port()}/").post(webhooks(1)) == [Answer(0, "no answer")]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://",
        "ftp://1.1.1.1/",
        "http://1.1.1.1/",
        "https://user@1.1.1.1/",
        "https://user:password@1.1.1.1/",
        "https://1.1.1.1:99999/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://127.0.0.1/",
        "http://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://localhost/",
        "https://a..b/",
    ],
)
def test_a_url_that_leads_inside_is_never_connected_to(
    url: str, posts_to: MakePosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On AWS, where no network is allowed besides. Names and numbers are read as the system reads them."""
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect_ex", lambda _, address: connected.append(address))

    (answer,) = posts_to(url, addresses=()).post(webhooks(1))

    assert answer.failure in ("address inside", "no address")
    assert connected == []


def test_a_name_that_gives_another_address_a_moment_later_gains_nothing(
    receiver: HttpServer, posts_to: MakePosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the address that was checked is the one that is connected to, and each batch is checked."""
    asked: list[str] = []
    connected: list[Any] = []
    connect = socket.socket.connect_ex

    def resolve(host: str, port: int) -> list[tuple[Any, ...]]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "169.254.169.254"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def record(self: socket.socket, address: Any) -> int:
        connected.append(address[0])
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect_ex", record)
    posts = posts_to(f"http://rebinding.example:{receiver.port}/", resolve=resolve)

    assert posts.post(webhooks(10)) == [Answer(200)] * 10
    assert asked == ["rebinding.example"]
    assert set(connected) == {"127.0.0.1"}
    assert {each.headers["host"] for each in receiver.received} == {f"rebinding.example:{receiver.port}"}
    receiver.hang_up()
    assert posts.post(webhooks(10)) == [Answer(0, "address inside")] * 10
    assert set(connected) == {"127.0.0.1"}


def test_of_several_addresses_only_those_of_the_internet_are_called(receiver: HttpServer, posts_to: MakePosts) -> None:
    def resolve(_host: str, port: int) -> list[tuple[Any, ...]]:
        inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in ("10.0.0.1", "169.254.169.254")]
        return [*inside, *socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM)]

    posts = posts_to(f"http://several.example:{receiver.port}/", resolve=resolve)

    assert posts.post(webhooks(10)) == [Answer(200)] * 10


def test_the_certificate_must_be_of_the_name_although_the_address_is_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posts_to: MakePosts
) -> None:
    certificate, context = certificate_of(tmp_path)
    named: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    receiver = HttpServer(context)

    def resolve(_host: str, port: int) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    answers = {}
    with trusted(certificate, monkeypatch):
        for host in ("localhost", "other.example"):
            answers[host] = posts_to(f"https://{host}:{receiver.port}/", resolve=resolve).post(webhooks(2))
    receiver.close()

    assert answers == {"localhost": [Answer(200)] * 2, "other.example": [Answer(0, "no answer")] * 2}
    assert set(named) == {"localhost", "other.example"}
    assert len(receiver.received) == 2
