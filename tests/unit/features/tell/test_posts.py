"""P14: webhooks are signed as Standard Webhooks says, and sent only to addresses of the internet."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from headrace.core.errors import ConfigurationError, SecretsUnavailable
from headrace.core.times import SystemClock
from headrace.features.tell.posts import Answer, Posts, Webhook, is_public, key_of, signature

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_a_signature_is_that_of_the_published_example() -> None:
    """The example of the libraries of Standard Webhooks."""
    made = signature(key_of(KEY), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_may_have_its_prefix_or_not() -> None:
    assert key_of(KEY) == key_of(KEY.removeprefix("whsec_") + "\n")
    assert len(key_of("a" * 64)) == 48, "what Secrets Manager generates"


UNUSABLE = ["", "whsec_", "whsec_not base64", "пароль", "whsec_c2hvcnQ=", "a" * 31, "a" * 28]


@pytest.mark.parametrize("secret", UNUSABLE)
def test_a_secret_must_be_base64_of_24_bytes_and_is_in_no_message(secret: str) -> None:
    with pytest.raises(ConfigurationError, match="must be whsec_ and base64 of at least 24 bytes") as raised:
        key_of(secret)
    assert secret in ("", "whsec_") or secret not in str(raised.value)


@pytest.mark.parametrize("secret", [None, *UNUSABLE])
def test_without_a_usable_secret_nothing_is_posted_and_the_next_batch_looks_again(secret: str | None) -> None:
    asked: list[str] = []

    def secrets() -> list[str]:
        if secret is None:
            raise SecretsUnavailable("the secret could not be read: AccessDeniedException")
        return [secret, KEY]

    def resolve(host: str, _port: int) -> list[tuple[object, ...]]:
        asked.append(host)
        return []

    known = [secrets]
    posts = Posts("https://receiver.example/", (), lambda: known[0](), SystemClock(), resolve)

    assert posts.post([Webhook("e1", b"{}"), Webhook("e2", b"{}")]) == [Answer(0, "no secret")] * 2
    assert asked == []
    known[0] = lambda: [KEY, secret or ""]  # after a rotation, the wrong one is the one before
    assert posts.post([Webhook("e1", b"{}")]) == [Answer(0, "address inside")]
    assert asked == ["receiver.example"]


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "52.94.236.248", "192.0.1.1", "192.88.98.1", "2606:4700:4700::1111", "2a00::1", "2001:200::1"],
)
def test_an_address_of_the_internet_may_be_called(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.42.0.7", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "169.254.170.2", "169.254.100.1"),  # metadata, of containers, and the API of Lambda
        *("100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
        *("192.0.0.192", "192.0.0.9", "192.88.99.1", "3fff::1", "3fff:fff::1", "2001:1::1"),  # global in some Pythons
        *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:1.1.1.1", "::127.0.0.1"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe"),  # NAT64
        *("2002:a9fe:a9fe::1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),  # 6to4, Teredo
    ],
)
def test_an_address_inside_may_not_be_called(address: str) -> None:
    assert not is_public(address)


def test_a_network_that_is_allowed_is_the_only_one_for_http() -> None:
    def resolve(_host: str, port: int) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", ("1.1.1.1", port)), (2, 1, 6, "", ("127.0.0.1", port)), (2, 1, 6, "", ("10.0.0.1", port))]

    def reached(url: str) -> list[str]:
        posts = Posts(url, [ip_network("127.0.0.0/8")], lambda: [KEY], SystemClock(), resolve)
        return [each[4][0] for each in posts._checked()]

    assert reached("http://receiver.example/") == ["127.0.0.1"]
    assert reached("https://receiver.example/") == ["1.1.1.1", "127.0.0.1"]
