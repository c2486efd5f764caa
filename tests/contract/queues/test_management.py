"""The client of RabbitMQ's management API, against a server with prepared answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.core.errors import BrokerUnavailable, ConfigurationError
from headrace.queues.rabbitmq import users
from headrace.queues.rabbitmq.users import ManagementApi
from headrace.runtime.secrets import Credentials
from tests.contract.http_server import HttpServer, status

PASSWORD = "s3cret:ä"


class Server(HttpServer):
    """Answers each request with ``status`` and ``body``; with the status 0 never."""

    def __init__(self) -> None:
        super().__init__()
        self.status, self.body = 200, b"{}"
        self.url = f"http://127.0.0.1:{self.port}"
        self.answer = lambda _: status(self.status, self.body) if self.status else None


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def api(server: Server) -> ManagementApi:
    return ManagementApi(f"{server.url}/", Credentials("admin", PASSWORD))


def test_names_are_encoded_and_one_connection_carries_all_calls(api: ManagementApi, server: Server) -> None:
    server.body = b'{"name": "a"}'

    assert api.get("permissions", "/", "a b/c") == {"name": "a"}
    server.status, server.body = 204, b""
    api.put("users", "ä", body={"password": "p", "tags": ""})

    login = "Basic YWRtaW46czNjcmV0OsOk"
    sent = [(each.method, each.path, each.headers["authorization"], each.body.decode()) for each in server.received]
    assert sent == [
        ("GET", "/api/permissions/%2F/a%20b%2Fc", login, ""),
        ("PUT", "/api/users/%C3%A4", login, '{"password": "p", "tags": ""}'),
    ]
    assert server.connections == 1


def test_an_object_that_does_not_exist_is_none(api: ManagementApi, server: Server) -> None:
    server.status, server.body = 404, b'{"error": "Object Not Found"}'

    assert api.get("users", "a") is None


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (500, b"{}", "answered with 500"),
        (503, b"", "answered with 503"),
        (429, b"", "answered with 429"),
        (200, b"<html>", "gave no JSON object for users/a"),
        (200, b"[1]", "gave no JSON object for users/a"),
        (200, b"[" * 60_000, "gave no JSON object for users/a"),
    ],
)
def test_an_answer_that_may_be_another_one_later(
    api: ManagementApi, server: Server, status: int, body: bytes, message: str
) -> None:
    server.status, server.body = status, body

    with pytest.raises(BrokerUnavailable, match=message):
        api.get("users", "a")
    server.status, server.body = 404, b""
    assert api.get("users", "a") is None, "the API cannot be used after a failed call"


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, b'{"error": "bad_request", "reason": "password is too short"}', "password is too short"),
        (401, b'{"error": "not_authorised"}', "not_authorised"),
        (302, b"", "no reason"),
        (400, b"[]", "no reason"),
    ],
)
def test_a_refusal_has_the_brokers_reason(
    api: ManagementApi, server: Server, status: int, body: bytes, reason: str
) -> None:
    server.status, server.body = status, body

    with pytest.raises(ConfigurationError) as caught:
        api.put("users", "a", body={"password": "another-secret", "tags": ""})

    assert caught.value.message == f"the broker refuses users/a with {status}: {reason}"


def test_a_silent_server_is_unavailable_after_a_while(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setattr(users, "CALL_SECONDS", 0.1)
    server.status = 0

    with pytest.raises(BrokerUnavailable, match="TimeoutError") as caught:
        ManagementApi(server.url, Credentials("admin", PASSWORD)).get("users", "a")

    assert PASSWORD not in str(caught.value)
