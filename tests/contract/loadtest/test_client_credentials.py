"""Tokens of an OAuth client, from a server that answers as Cognito's token endpoint does."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from loadtest.client.credentials import ClientCredentials, Credentials
from localstage.client.errors import TokenRefused
from tests.contract.loadtest.cognito import CLIENT, LASTS, SECRET, Cognito


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def cognito() -> Iterator[Cognito]:
    running = Cognito()
    yield running
    running.close()


def client(cognito: Cognito, clock: Clock, scopes: str = "", secret: str = SECRET) -> ClientCredentials:
    return ClientCredentials(cognito.url, CLIENT, secret, scopes, clock=clock)


def test_a_token_is_fetched_once_and_kept_for_most_of_its_life(cognito: Cognito) -> None:
    clock = Clock()
    token = client(cognito, clock)

    first = token()
    clock.now += LASTS * 0.79

    assert token() == first
    assert cognito.requests == [{"grant_type": ["client_credentials"]}]


def test_a_token_is_replaced_before_it_expires(cognito: Cognito) -> None:
    clock = Clock()
    token = client(cognito, clock)

    first = token()
    clock.now += LASTS * 0.81

    assert token() != first
    assert len(cognito.requests) == 2


def test_many_users_at_once_cause_one_request(cognito: Cognito) -> None:
    token, got = client(cognito, Clock()), []
    users = [threading.Thread(target=lambda: got.append(token())) for _ in range(32)]
    for each in users:
        each.start()
    for each in users:
        each.join()

    assert (len(cognito.requests), cognito.most_at_once, len(set(got)), len(got)) == (1, 1, 1, 32)


def test_an_issuer_that_fails_does_not_end_a_run_while_the_token_is_valid(cognito: Cognito) -> None:
    clock = Clock()
    token = client(cognito, clock)
    first = token()
    cognito.failing = True

    clock.now += LASTS * 0.9
    assert token() == first
    clock.now += LASTS * 0.11
    with pytest.raises(TokenRefused, match="gave the client 3nq8example no token: 500"):
        token()
    cognito.failing = False
    assert token() != first


@pytest.mark.parametrize(
    ("scopes", "secret", "reason"),
    [("headrace/ops", SECRET, "400 invalid_scope"), ("", "wrong", "400 invalid_client")],
)
def test_a_refusal_says_why_and_not_the_secret(cognito: Cognito, scopes: str, secret: str, reason: str) -> None:
    with pytest.raises(TokenRefused, match=reason) as refused:
        client(cognito, Clock(), scopes, secret)()
    assert secret not in str(refused.value)


def test_an_issuer_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(TokenRefused, match=r"http://127\.0\.0\.1:1/oauth2/token gave no token"):
        ClientCredentials("http://127.0.0.1:1/oauth2/token", CLIENT, SECRET)()


def test_the_variables_of_a_producer_give_a_sender_for_any_user(cognito: Cognito) -> None:
    environ = {"CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, "SCOPES": "headrace/events:write headrace/chat:read"}

    sender = Credentials.from_environment(cognito.url, environ).sender(5)

    assert (sender.user_id, sender.trusted) == (CLIENT, True)
    assert cognito.requests[0]["scope"] == [environ["SCOPES"]]
