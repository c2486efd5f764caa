"""OAuth's grants at the token issuer, as a program and a browser see them."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp
import pytest

from headrace_client.cli.stage import claims_of
from localstage.gateway import Issuer
from localstage.gateway.issuer import CLIENT_ID

BACK = "http://localhost:3000/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


def page_of(issuer: Issuer, **changed: str) -> str:
    query = {"response_type": "code", "client_id": issuer.people_client_id, "redirect_uri": BACK, "state": "s&1"}
    query |= {"scope": "chat:read chat:write", "code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    return f"{issuer.url}/authorize?{urlencode(query | changed)}"


async def press(page: str, **form: str) -> dict[str, list[str]]:
    """What the program gets after a person pressed a button of the page."""
    async with aiohttp.ClientSession() as session, session.post(page, data=form, allow_redirects=False) as answer:
        assert answer.status == 302, await answer.text()
        back = urlsplit(answer.headers["Location"])
        assert back._replace(query="").geturl() == BACK
        return parse_qs(back.query)


async def ask(issuer: Issuer, headers: dict[str, str] | None = None, **form: str) -> tuple[int, dict[str, Any]]:
    url = f"{issuer.url}/token"
    async with aiohttp.ClientSession() as session, session.post(url, data=form, headers=headers) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        return answer.status, await answer.json()


async def exchange(issuer: Issuer, code: str, **changed: str) -> tuple[int, dict[str, Any]]:
    form = {"grant_type": "authorization_code", "client_id": issuer.people_client_id, "redirect_uri": BACK}
    return await ask(issuer, **(form | {"code": code, "code_verifier": VERIFIER} | changed))


async def test_a_code_is_good_once_and_for_its_program_only(issuer: Issuer) -> None:
    code = (await press(page_of(issuer), user="bob"))["code"][0]

    assert (await exchange(issuer, code, code_verifier="w" * 43))[1]["error"] == "invalid_grant"
    assert (await exchange(issuer, code, redirect_uri=f"{BACK}2"))[1]["error"] == "invalid_grant"
    assert (await exchange(issuer, code, client_id=CLIENT_ID))[0] == 401
    assert (await exchange(issuer, code))[0] == 200
    assert (await exchange(issuer, code))[1]["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"scope": ""}, "invalid_scope"),
        ({"scope": "chat:réad"}, "invalid_request"),
    ],
)
async def test_a_wrong_request_is_the_programs_to_explain(issuer: Issuer, changed: dict[str, str], error: str) -> None:
    back = await press(page_of(issuer, **changed), user="bob")

    assert (back["error"], back["state"]) == ([error], ["s&1"])
    assert back["error_description"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("redirect_uri", "https://evil.example/"),
        ("redirect_uri", "http://localhost.evil.example/"),
        ("redirect_uri", "javascript:1"),
        ("client_id", "people-guessed"),
        ("client_id", CLIENT_ID),
    ],
)
async def test_nobody_else_gets_a_code(issuer: Issuer, field: str, value: str) -> None:
    """Another user of the machine finds the port, but not the client id."""
    changed = {field: value}
    async with aiohttp.ClientSession() as session:
        async with session.post(page_of(issuer, **changed), data={"user": "bob"}, allow_redirects=False) as answer:
            assert answer.status == 400
        async with session.post(page_of(issuer), headers={"Origin": "https://evil.example"}) as answer:
            assert answer.status == 403


async def test_a_program_that_names_no_scopes_gets_all_of_the_stage_as_from_cognito(issuer: Issuer) -> None:
    issuer.grants.scopes = ("chat:read", "events:write")
    form = {"grant_type": "client_credentials", "client_id": CLIENT_ID, "client_secret": issuer.secret}

    _, answer = await ask(issuer, **form)

    assert claims_of(answer["access_token"])["scope"] == "chat:read events:write"


@pytest.mark.parametrize(
    ("form", "status", "error"),
    [
        ({"grant_type": "client_credentials", "client_id": CLIENT_ID, "scope": "ops"}, 401, "invalid_client"),
        ({"code": "c"}, 400, "unsupported_grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "r"}, 401, "invalid_client"),
    ],
)
async def test_a_refused_form_gets_an_error_of_oauth(
    issuer: Issuer, form: dict[str, str], status: int, error: str
) -> None:
    assert (await ask(issuer, **form))[0] == status
    assert (await ask(issuer, **form))[1]["error"] == error
