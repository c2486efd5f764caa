"""Tokens of an OAuth client, from a server that answers as Cognito's token endpoint does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadtest.client.credentials import of_client
from localstage.client.errors import TokenRefused
from tests.contract.loadtest.cognito import CLIENT, SECRET, Cognito


@pytest.fixture
def cognito() -> Iterator[Cognito]:
    running = Cognito()
    yield running
    running.close()


def test_one_token_serves_until_it_expires(cognito: Cognito) -> None:
    token = of_client(cognito.url, CLIENT, SECRET)

    assert token() == token()


@pytest.mark.parametrize(
    ("scopes", "secret", "reason"),
    [("headrace/ops", SECRET, "invalid_scope"), ("", "wrong", "invalid_client")],
)
def test_a_refusal_says_why_and_not_the_secret(cognito: Cognito, scopes: str, secret: str, reason: str) -> None:
    with pytest.raises(TokenRefused, match=f"{reason}: http://.* gives no token") as refused:
        of_client(cognito.url, CLIENT, secret, scopes)()
    assert secret not in str(refused.value)
