"""The broker's users get their passwords and permissions, and only what differs is written."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from typing import Any, Self

import pytest

from headrace.core.errors import BrokerUnavailable, ConfigurationError
from headrace.queues.rabbitmq import endpoints, users
from headrace.queues.rabbitmq.users import BrokerUsersSettings, console_url, ensure_users
from headrace.runtime.secrets import Credentials
from tests.fakes.secrets import MemorySecrets

SETTINGS = BrokerUsersSettings(
    broker_endpoints=(("amqps://broker:5671/chat",),),
    broker_secret_arn="administrator",
    persist_queues={"chat": 1},
    broker_publisher_secret_arn="publisher",
    broker_consumer_secret_arn="consumer",
)


class FakeApi:
    """The management API in memory; ``written`` are the paths that were put since the last look."""

    def __init__(self, hashing: str = "sha256") -> None:
        self.objects: dict[tuple[str, ...], dict[str, Any]] = {}
        self.written: list[str] = []
        self.logins: list[tuple[str, Credentials]] = []
        self.failing = 0
        self._hashing = hashing

    def __call__(self, url: str, administrator: Credentials) -> Self:
        self.logins.append((url, administrator))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing."""

    def get(self, *path: str) -> dict[str, Any] | None:
        if self.failing:
            self.failing -= 1
            raise BrokerUnavailable("the broker's management API is unavailable")
        return self.objects.get(path)

    def put(self, *path: str, body: dict[str, str]) -> None:
        self.written.append("/".join(path))
        if path[0] == "permissions":
            self.objects[path] = {"vhost": path[1], "user": path[2], **body}
            return
        digest = hashlib.new(self._hashing, b"salt" + body["password"].encode()).digest()
        self.objects[path] = {
            "name": path[1],
            "password_hash": b64encode(b"salt" + digest).decode(),
            "hashing_algorithm": f"rabbit_password_hashing_{self._hashing}",
            "tags": [],
        }

    def look(self) -> list[str]:
        written, self.written = self.written, []
        return written


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    fake = FakeApi()
    monkeypatch.setattr(users, "ManagementApi", fake)
    return fake


@pytest.fixture
def secrets() -> MemorySecrets:
    return MemorySecrets({role: json.dumps({"username": role, "password": f"{role}'s"}) for role in ROLES})


ROLES = ("administrator", "publisher", "consumer")


def test_hashes_of_another_kind_are_compared_too(monkeypatch: pytest.MonkeyPatch, secrets: MemorySecrets) -> None:
    api = FakeApi("sha512")
    monkeypatch.setattr(users, "ManagementApi", api)
    ensure_users(SETTINGS, secrets)

    assert ensure_users(SETTINGS, secrets) == []


@pytest.mark.parametrize(
    "shown",
    [
        {"password_hash": ""},
        {"password_hash": "not base64"},
        {"password_hash": None},
        {"hashing_algorithm": "rabbit_password_hashing_md5"},
        {"hashing_algorithm": None},
        {"tags": ["administrator"]},
        {"tags": "administrator"},
    ],
)
def test_a_user_with_a_tag_or_a_hash_that_cannot_be_compared_is_written(
    api: FakeApi, secrets: MemorySecrets, shown: dict[str, Any]
) -> None:
    ensure_users(SETTINGS, secrets)
    api.look()

    api.objects["users", "publisher"] |= shown

    assert ensure_users(SETTINGS, secrets) == ["user publisher has its password and no tags again"]
    assert api.look() == ["users/publisher"]


def test_an_older_broker_shows_its_tags_as_a_text(api: FakeApi, secrets: MemorySecrets) -> None:
    ensure_users(SETTINGS, secrets)
    api.objects["users", "publisher"]["tags"] = ""

    assert ensure_users(SETTINGS, secrets) == []


@pytest.mark.parametrize("role", ["publisher", "consumer"])
@pytest.mark.parametrize("name", ROLES)
def test_no_two_secrets_may_name_the_same_user(api: FakeApi, secrets: MemorySecrets, role: str, name: str) -> None:
    """The administrator would lose its tag."""
    secrets.values[role] = json.dumps({"username": name, "password": "p"})

    if name == role:
        assert ensure_users(SETTINGS, secrets)
        return
    with pytest.raises(ConfigurationError, match="must name three users"):
        ensure_users(SETTINGS, secrets)
    assert api.look() == []


def test_an_unavailable_api_is_tried_again_only_while_a_stack_is_deployed(
    monkeypatch: pytest.MonkeyPatch, api: FakeApi, secrets: MemorySecrets
) -> None:
    monkeypatch.setattr(endpoints, "RETRY_SECONDS", 0.0)
    api.failing = 2

    with pytest.raises(BrokerUnavailable):
        ensure_users(SETTINGS, secrets)
    assert len(ensure_users(SETTINGS, secrets, seconds=60)) == 4


def test_the_api_is_at_the_brokers_host_unless_a_url_is_given() -> None:
    other = {"BROKER_ENDPOINTS": "amqps://broker:5671", "BROKER_SECRET_ARN": "a"}
    other |= {"BROKER_PUBLISHER_SECRET_ARN": "p", "BROKER_CONSUMER_SECRET_ARN": "c", "PERSIST_QUEUES": "chat=1"}

    def url(text: str) -> str:
        return console_url(BrokerUsersSettings.read(other | {"BROKER_CONSOLE_URLS": text}))

    assert url("") == "https://broker"
    assert url("https://one,https://two") == "https://one"
    assert url("http://127.0.0.1:15672") == "http://127.0.0.1:15672"
    for refused in ("http://broker:15672", "https://user:password@broker", "broker"):
        with pytest.raises(ConfigurationError, match="BROKER_CONSOLE_URLS is not of its accepted form"):
            url(refused)
