"""The WebSocket authorizer allows or denies a connection by its token."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.authorizer import decide
from headrace.api.claims import caller_from_frame
from headrace.core.caller import Caller
from headrace.core.errors import TokenExpired, Unauthorized, Unavailable

ARN = "arn:aws:execute-api:us-east-1:123456789012:abc/dev/$connect"


class Verifier:
    """A TokenVerifier that returns a caller, or raises."""

    prefix = "headrace/"

    def __init__(self, outcome: Caller | Exception) -> None:
        self._outcome = outcome

    def verify(self, token: str) -> Caller:
        assert token == "abc.def.ghi"
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def event(header: str = "Sec-WebSocket-Protocol", *lines: str) -> dict[str, Any]:
    sent = list(lines or ["headrace.v1, abc.def.ghi"])
    headers, all_headers = {header: sent[-1]}, {header: sent}
    request = {"requestId": "r-1"}
    return {"headers": headers, "multiValueHeaders": all_headers, "methodArn": ARN, "requestContext": request}


def caller(*scopes: str) -> Caller:
    return Caller("alice", "Alice", frozenset(scopes), 1_900_000_000)


@pytest.mark.parametrize(
    "sent",
    [
        ("Sec-WebSocket-Protocol",),
        ("sec-websocket-protocol",),
        ("Sec-WebSocket-Protocol", "headrace.v1", "abc.def.ghi"),
    ],
)
def test_every_frame_of_a_connection_has_the_caller_of_its_authorizer(sent: tuple[str, ...]) -> None:
    alice = caller("chat:write", "chat:read")

    answer = decide(event(*sent), Verifier(alice))

    assert answer["policyDocument"]["Statement"] == [
        {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": ARN}
    ]
    assert all(isinstance(value, str) for value in answer["context"].values())
    assert caller_from_frame({"requestContext": {"authorizer": answer["context"]}}, "headrace/") == alice


def test_a_token_without_any_scope_of_the_socket_is_denied() -> None:
    answer = decide(event(), Verifier(caller("ops")))

    assert answer["policyDocument"]["Statement"][0]["Effect"] == "Deny"


OFFERED = "headrace.v1, abc.def.ghi, headrace.token_expired, headrace.forbidden"


@pytest.mark.parametrize(
    ("outcome", "subprotocol"),
    [(TokenExpired("expired"), "headrace.token_expired"), (caller("ops"), "headrace.forbidden")],
)
def test_a_page_that_offers_it_gets_a_connection_whose_subprotocol_says_why_it_is_refused(
    outcome: Caller | Exception, subprotocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = decide(event("Sec-WebSocket-Protocol", OFFERED), Verifier(outcome))

    assert answer["policyDocument"]["Statement"][0]["Effect"] == "Allow"
    assert answer["context"] == {"refused": subprotocol}
    assert '"ConnectRefused":[1.0]' in capsys.readouterr().out.replace(" ", "")
    with pytest.raises(Unauthorized):
        caller_from_frame({"requestContext": {"authorizer": answer["context"]}})


def test_a_token_of_somebody_whom_the_issuer_does_not_know_opens_no_connection() -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        decide(event("Sec-WebSocket-Protocol", f"{OFFERED}, headrace.unauthorized"), Verifier(Unauthorized("forged")))


def test_a_page_that_offers_refusals_connects_as_others_do() -> None:
    answer = decide(event("Sec-WebSocket-Protocol", OFFERED), Verifier(caller("chat:read")))

    assert answer == decide(event(), Verifier(caller("chat:read")))


@pytest.mark.parametrize("error", [Unauthorized("forged"), TokenExpired("expired")])
def test_an_untrusted_token_is_a_401_in_the_form_of_api_gateway(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        decide(event(), Verifier(error))

    assert '"ConnectRefused":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_an_unavailable_issuer_is_not_a_401_and_sets_an_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Unavailable):
        decide(event(), Verifier(Unavailable("down")))
    assert "Unexpected" in capsys.readouterr().out
