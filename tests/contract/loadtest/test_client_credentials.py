"""Tokens of an OAuth client, from a server that answers as Cognito's token endpoint does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadtest.client.credentials import ClientCredentials
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
