"""Which token is used for what, and what a missing one is called."""

from __future__ import annotations

import base64
import json

import pytest

from loadtest.client.credentials import Credentials, given
from loadtest.client.target import Target
from localstage.client.errors import StageNotFound, TokenRefused

URLS = ("https://api.example", "wss://ws.example")


def jwt(subject: str, *scopes: str, **claims: object) -> str:
    body = {"sub": subject, "scope": " ".join(f"headrace/{each}" for each in scopes), **claims}
    return f"h.{base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip('=')}.s"


PRODUCER = jwt("producer-client", "events:write", "chat:read")


def test_what_is_no_jwt_is_refused_without_printing_it() -> None:
    with pytest.raises(TokenRefused, match="not a JWT") as refused:
        Credentials([given("s3cret")]).holder("chat:read")
    assert "s3cret" not in str(refused.value)


def test_each_user_sends_with_their_own_token() -> None:
    tokens = [jwt(f"user-{number}", "chat:write", "chat:read") for number in range(3)]
    credentials = Credentials([given(PRODUCER)], tokens)

    senders = [credentials.sender(number) for number in range(3)]

    assert [each.user_id for each in senders] == ["user-0", "user-1", "user-2"]
    assert not any(each.trusted for each in senders)
    with pytest.raises(TokenRefused, match="TOKENS has 3 tokens"):
        credentials.sender(3)


def test_a_token_that_may_not_read_is_an_error_that_says_so() -> None:
    target = Target(*URLS, credentials=Credentials([given(jwt("importer", "events:write"))]))

    with pytest.raises(TokenRefused, match="no token has analytics:read; they have: events:write"):
        target.reader("analytics:read")


def test_a_stage_elsewhere_needs_both_urls_and_a_token() -> None:
    assert Target.named(None, None, {}) is None
    with pytest.raises(StageNotFound, match="both HTTP_URL and WS_URL"):
        Target.named(URLS[0], None, {"TOKEN": PRODUCER})
    with pytest.raises(TokenRefused, match="CLIENT_ID and CLIENT_SECRET with TOKEN_URL"):
        Target.named(*URLS, {})
    with pytest.raises(TokenRefused, match="CLIENT_ID needs the variables TOKEN_URL and CLIENT_SECRET"):
        Target.named(*URLS, {"CLIENT_ID": "c", "TOKEN_URL": "https://pool.example/oauth2/token"})
