"""Which token is used for what, and what a missing one is called."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from loadtest.client.credentials import Claims, Credentials, GivenToken, user_tokens
from loadtest.client.target import Target
from localstage.client.errors import StageNotFound, TokenRefused

URLS = ("https://api.example", "wss://ws.example")


def jwt(subject: str, *scopes: str, **claims: object) -> str:
    body = {"sub": subject, "scope": " ".join(f"headrace/{each}" for each in scopes), **claims}
    return f"h.{base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip('=')}.s"


PRODUCER = jwt("producer-client", "events:write", "chat:read")


def test_the_prefix_of_cognitos_scopes_is_not_part_of_them() -> None:
    assert Claims.of(PRODUCER).scopes == {"events:write", "chat:read"}
    assert Claims.of(jwt("a", scope=["chat:read"])).scopes == {"chat:read"}


def test_a_token_that_lists_no_scopes_may_have_them_all() -> None:
    token = jwt("a").replace(jwt("a").split(".")[1], base64.urlsafe_b64encode(b'{"sub":"a"}').decode())

    assert Credentials([GivenToken(token)]).holder("chat:read")() == token


def test_what_is_no_jwt_is_refused_without_printing_it() -> None:
    with pytest.raises(TokenRefused, match="not a JWT") as refused:
        Credentials([GivenToken("s3cret")]).holder("chat:read")
    assert "s3cret" not in str(refused.value)


def test_a_producers_token_sends_for_any_user() -> None:
    sender = Credentials([GivenToken(PRODUCER)]).sender(63)

    assert (sender.user_id, sender.trusted, sender.token()) == ("producer-client", True, PRODUCER)


def test_one_users_token_sends_as_that_user() -> None:
    """The platform takes the sender from the token, so the checker expects its subject."""
    sender = Credentials([GivenToken(jwt("alice", "chat:write", "chat:read"))]).sender(63)

    assert (sender.user_id, sender.trusted) == ("alice", False)


def test_each_user_sends_with_their_own_token() -> None:
    tokens = [jwt(f"user-{number}", "chat:write", "chat:read") for number in range(3)]
    credentials = Credentials([GivenToken(PRODUCER)], tokens)

    senders = [credentials.sender(number) for number in range(3)]

    assert [each.user_id for each in senders] == ["user-0", "user-1", "user-2"]
    assert not any(each.trusted for each in senders)
    with pytest.raises(TokenRefused, match="TOKENS has 3 tokens"):
        credentials.sender(3)


def test_a_users_token_that_may_not_write_is_named() -> None:
    with pytest.raises(TokenRefused, match="token 1 of TOKENS has neither chat:write nor events:write"):
        Credentials([], [jwt("a", "chat:read")]).sender(0)


@pytest.mark.parametrize(
    ("scope", "reason"), [("chat:read", "which reading back needs"), ("analytics:read", "which questions need")]
)
def test_a_token_that_may_not_read_is_an_error_that_says_so(scope: str, reason: str) -> None:
    target = Target(*URLS, credentials=Credentials([GivenToken(jwt("importer", "events:write"))]))

    with pytest.raises(TokenRefused, match=f"no token has {scope}, {reason}; they have: events:write"):
        target.reader(scope)


def test_each_scope_is_looked_for_in_all_tokens() -> None:
    analyst = jwt("analyst", "analytics:read")
    credentials = Credentials([GivenToken(PRODUCER), GivenToken(analyst)])

    assert credentials.holder("analytics:read")() == analyst
    assert credentials.holder("chat:read")() == PRODUCER


def test_a_stage_elsewhere_needs_both_urls_and_a_token() -> None:
    assert Target.named(None, None, {}) is None
    with pytest.raises(StageNotFound, match="both HTTP_URL and WS_URL"):
        Target.named(URLS[0], None, {"TOKEN": PRODUCER})
    with pytest.raises(TokenRefused, match="CLIENT_ID and CLIENT_SECRET with TOKEN_URL"):
        Target.named(*URLS, {})
    with pytest.raises(TokenRefused, match="CLIENT_ID needs the variables TOKEN_URL and CLIENT_SECRET"):
        Target.named(*URLS, {"CLIENT_ID": "c", "TOKEN_URL": "https://pool.example/oauth2/token"})


def test_only_the_local_stage_issues_tokens_for_any_user() -> None:
    local = Target.named(*URLS, {"TOKEN_URL": "http://127.0.0.1:1/token"})
    elsewhere = Target.named(*URLS, {"TOKEN": PRODUCER})

    assert local is not None
    assert elsewhere is not None
    assert (local.issues, elsewhere.issues) == (True, False)
    assert (elsewhere.reader_id, local.reader_id) == ("producer-client", "loadtest-reader")
    assert elsewhere.operator("me") is None


def test_a_file_of_tokens_has_one_on_each_line(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("a.b.c\n\nd.e.f\n")

    assert user_tokens(file) == ["a.b.c", "d.e.f"]
    with pytest.raises(TokenRefused, match="cannot be read"):
        user_tokens(tmp_path / "missing")
    file.write_text("\n")
    with pytest.raises(TokenRefused, match="has no token"):
        user_tokens(file)
