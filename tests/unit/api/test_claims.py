"""The caller of a request or frame is found in its claims, and its scopes and expiry are checked."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.claims import caller_from_claims, caller_from_frame, caller_from_http
from headrace.core.errors import Forbidden, TokenExpired, Unauthorized
from headrace.core.times import SECOND

CLAIMS = {"sub": "u-1", "username": "alice", "scope": "chat:write chat:read", "exp": "1763719258"}


def test_the_caller_of_a_request_is_in_the_claims() -> None:
    event = {"requestContext": {"authorizer": {"jwt": {"claims": CLAIMS, "scopes": None}}}}

    caller = caller_from_http(event)

    assert (caller.subject, caller.username, caller.expires_at) == ("u-1", "alice", 1763719258)
    assert caller.has("chat:write")


@pytest.mark.parametrize(
    "claims",
    [
        {"scope": "pre/chat:read pre/chat:write other/ops"},
        {"scp": "pre/chat:read pre/chat:write"},
        {"scp": ["pre/chat:read", "pre/chat:write", 7, None]},
        {"scp": "[pre/chat:read pre/chat:write other/ops]"},
        {"scope": "pre/chat:read", "scp": ["pre/chat:write"]},
        {"scope": ["pre/chat:read", "pre/chat:write"], "scp": {"pre/ops": True}},
    ],
    ids=["text", "scp text", "scp array", "array by API Gateway", "both", "scope array"],
)
def test_scopes_are_in_scope_or_scp_as_a_text_or_an_array(claims: dict[str, Any]) -> None:
    assert caller_from_claims({"sub": "u-1", "exp": "1", **claims}, "pre/").scopes == {"chat:read", "chat:write"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [("a\x01b", "ab"), ("al\nice\x7f", "alice"), ("\x00", "u-1"), ("Zoë | x", "Zoë | x"), ("x" * 200, "x" * 128)],
)
def test_a_username_is_shown_without_control_characters(given: str, shown: str) -> None:
    """A token's name comes from its issuer: refusing it would lock its user out."""
    assert caller_from_claims(CLAIMS | {"username": given}).username == shown


def test_the_name_of_a_caller_without_one_is_its_id() -> None:
    assert caller_from_claims({"sub": "u-1", "exp": 1.76e9}).username == "u-1"


@pytest.mark.parametrize(
    "claims", [{}, {"sub": "a"}, {"sub": "", "exp": "1"}, {"sub": "a#b", "exp": "1"}, {"sub": "a", "exp": "x"}]
)
def test_a_token_without_a_subject_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        caller_from_claims(claims)


@pytest.mark.parametrize("subject", ["\u212aelly", "Zoe\u0308", "\u1112\u1161"])
def test_a_subject_in_another_form_than_nfc_is_refused(subject: str) -> None:
    """Its normal form, such as Kelly for one with a Kelvin sign, may be somebody else's id."""
    with pytest.raises(Unauthorized, match="NFC"):
        caller_from_claims(CLAIMS | {"sub": subject})


@pytest.mark.parametrize("event", [{"requestContext": {}}, {"requestContext": {"authorizer": None}}])
def test_a_request_without_a_token_is_refused_in_both_protocols(event: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        caller_from_http(event)
    with pytest.raises(Unauthorized):
        caller_from_frame(event)


@pytest.mark.parametrize("claim", [["chat:read"], {"chat:read": True}])
def test_a_claim_that_api_gateway_would_pass_as_a_text_is_refused(claim: object) -> None:
    context = CLAIMS | {"scp": claim}
    with pytest.raises(Unauthorized):
        caller_from_http({"requestContext": {"authorizer": {"jwt": {"claims": context}}}})
    with pytest.raises(Unauthorized):
        caller_from_frame({"requestContext": {"authorizer": context}})


def test_one_of_the_wanted_scopes_is_enough() -> None:
    caller_from_claims(CLAIMS).require("events:write", "chat:write", now=0)


def test_a_missing_scope_is_named() -> None:
    with pytest.raises(Forbidden, match="ops") as caught:
        caller_from_claims(CLAIMS).require("ops", now=0)

    assert caught.value.details[0].allowed == "ops"


def test_a_token_ends_at_its_expiry() -> None:
    caller = caller_from_claims(CLAIMS)

    caller.require("chat:write", now=1763719258 * SECOND - 1)
    with pytest.raises(TokenExpired):
        caller.require("chat:write", now=1763719258 * SECOND)


def test_requests_with_other_claims_have_other_callers() -> None:
    def scopes(**claims: str) -> set[str]:
        context = {"sub": "u-1", "exp": "4102444800", "scope": "chat:read", **claims}
        return set(caller_from_frame({"requestContext": {"authorizer": context}}).scopes)

    assert [scopes(), scopes(scope="ops"), scopes(scp="ops"), scopes()] == [
        {"chat:read"},
        {"ops"},
        {"chat:read", "ops"},
        {"chat:read"},
    ]
