"""The Python client's token providers, with the issuer of the local stage and with one that fails."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
import urllib3
from aiohttp import web
from aiohttp.test_utils import TestServer

from headrace_client import ClientCredentials, Grant, HeadraceError, Refused, SignedIn, Unavailable, discover, sign_in
from headrace_client.oauth import Issuer as Addresses
from headrace_client.tokens import token_of
from localstage.gateway import Issuer
from localstage.gateway.issuer import CLIENT_ID
from tests.contract.localstage.gateway.gateway_fakes import with_key
from tests.fakes.clock import Seconds

FREE_PORT = "http://localhost:0/callback"
SECRET = "secret of the client"


class CountingIssuer:
    """Gives the tokens t1, t2, …, each for 100 s, slowly, or refuses."""

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.refusal: tuple[int, Any] | None = None
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append({key: str(value) for key, value in (await request.post()).items()})
        await asyncio.sleep(0.05)
        if self.refusal is not None:
            status, body = self.refusal
            return web.json_response(body, status=status, headers={"Location": f"{self.url}/elsewhere"})
        return web.json_response({"access_token": f"t{len(self.requests)}", "expires_in": 100})


@pytest.fixture
async def issuer() -> AsyncIterator[CountingIssuer]:
    counting = CountingIssuer()
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", counting.answer)
    async with TestServer(app) as server:
        counting.url = str(server.make_url("/token"))
        yield counting


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Issuer]:
    made = Issuer(with_key(tmp_path))
    await made.start()
    yield made
    await made.stop()


async def test_however_many_wait_one_request_renews_the_token(issuer: CountingIssuer) -> None:
    clock = Seconds()
    token = ClientCredentials(issuer.url, "producer", SECRET, ["events:write"], clock=clock)

    first = await asyncio.gather(*(token() for _ in range(200)))
    clock.now += 79.0
    kept = await token()
    clock.now += 2.0
    with ThreadPoolExecutor(20) as threads:
        loop = asyncio.get_running_loop()
        in_threads = await asyncio.gather(*(loop.run_in_executor(threads, token.get) for _ in range(20)))

    assert set(first) == {"t1"}
    assert kept == "t1"
    assert set(in_threads) == {"t2"}, "it is renewed before its 100 s end"
    assert issuer.requests == [{"grant_type": "client_credentials", "scope": "events:write"}] * 2


async def test_a_valid_token_outlives_an_outage_of_its_issuer(issuer: CountingIssuer) -> None:
    clock = Seconds()
    token = ClientCredentials(issuer.url, "producer", SECRET, clock=clock)
    await token()
    issuer.refusal = (503, {})

    clock.now += 85.0
    assert await token() == "t1"
    clock.now += 16.0
    failed = await asyncio.gather(*(token() for _ in range(50)), return_exceptions=True)
    requests = len(issuer.requests)
    issuer.refusal = None

    assert {type(each) for each in failed} == {Unavailable}
    assert requests == 3, "all who waited share one failure"
    assert await token() == "t4"


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        ((401, {"error": "invalid_client", "error_description": "no such client"}), "invalid_client"),
        ((400, []), "400"),
        ((302, {}), "302"),
        ((200, {"token": 1}), "invalid_answer"),
        ((200, []), "invalid_answer"),
    ],
)
async def test_a_refusal_says_who_refuses_and_never_the_secret(
    issuer: CountingIssuer, refusal: tuple[int, Any], code: str
) -> None:
    issuer.refusal = refusal

    with pytest.raises(Refused) as raised:
        await token_of(ClientCredentials(issuer.url, "producer", SECRET))

    assert raised.value.code == code
    assert issuer.url in str(raised.value)
    assert SECRET not in str(raised.value)
    assert len(issuer.requests) == 1, "a redirect is not followed"


async def test_an_issuer_that_does_not_answer_is_named() -> None:
    with pytest.raises(Unavailable, match=r"no answer from http://127.0.0.1:1/token: "):
        await ClientCredentials("http://127.0.0.1:1/token", "producer", SECRET)()
    with pytest.raises(Unavailable, match=r"no answer from http://127.0.0.1:1/.well-known/openid-configuration"):
        await asyncio.to_thread(discover, "http://127.0.0.1:1/")


async def test_a_program_gets_a_token_of_the_local_stage(local: Issuer) -> None:
    addresses = await asyncio.to_thread(discover, local.url)

    token = await ClientCredentials(addresses.token_url, CLIENT_ID, local.secret, ["events:write"])()

    assert claims_of(token)["scope"] == "events:write"


def claims_of(token: str) -> dict[str, Any]:
    return dict(jwt.decode(token, options={"verify_signature": False}))


def press(page: str, **form: str) -> str:
    """Do what a browser does after a person pressed a button of the page; returns what the person sees then."""
    browser = urllib3.PoolManager()
    answer = browser.request_encode_body("POST", page, fields=form, encode_multipart=False, redirect=False)
    return browser.request("GET", answer.headers["Location"]).data.decode()


async def signed_in(
    local: Issuer, show: Callable[[str], object], redirect_url: str = FREE_PORT, seconds: float = 20.0
) -> Grant:
    addresses = await asyncio.to_thread(discover, local.url)
    client, scopes = local.people_client_id, ["chat:read", "chat:write"]
    return await asyncio.to_thread(
        sign_in, addresses, client, scopes, redirect_url=redirect_url, show=show, seconds=seconds
    )


async def test_a_person_signs_in_with_a_browser_and_stays_signed_in(local: Issuer) -> None:
    seen: list[str] = []
    kept: list[Grant] = []
    clock = Seconds(time.time())

    first = await signed_in(local, lambda page: seen.append(press(page, user="bob")))
    token_url = f"{local.url}/token"
    token = SignedIn(token_url, local.people_client_id, lambda: first, kept.append, clock=clock)
    assert await token() == first.access_token
    clock.now += 3590.0
    again = await token()
    other = SignedIn(token_url, local.people_client_id, lambda: kept[-1], kept.append, clock=clock)

    assert "You can close this page" in seen[0]
    assert claims_of(first.access_token)["sub"] == claims_of(again)["sub"] == "bob"
    assert again != first.access_token
    assert [grant.access_token for grant in kept] == [again]
    assert kept[0].refresh_token
    assert await other() == again, "another program takes what this one has stored"


async def test_a_person_can_cancel(local: Issuer) -> None:
    seen: list[str] = []

    with pytest.raises(Refused, match="access_denied: the person cancelled"):
        await signed_in(local, lambda page: seen.append(press(page, cancel="yes")))

    assert "You are not signed in" in seen[0]


async def test_another_page_can_neither_end_nor_forge_a_sign_in(local: Issuer) -> None:
    def show(page: str) -> None:
        port = re.findall(r"localhost%3A(\d+)", page)[0]
        for path in ("callback?code=forged", "callback?code=forged&state=guessed", "callback?state=%C3%BC", "other"):
            assert urllib3.request("GET", f"http://localhost:{port}/{path}").status == 404
        press(page, user="bob")

    grant = await signed_in(local, show)

    assert claims_of(grant.access_token)["sub"] == "bob"


async def test_nobody_who_signs_in_a_taken_port_and_a_foreign_address_are_named(local: Issuer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://localhost:{taken.getsockname()[1]}/callback"
        with pytest.raises(HeadraceError, match=f"cannot listen at {url}"):
            await signed_in(local, lambda _: None, url)
    with pytest.raises(Unavailable, match=r"no sign-in within 0\.1 s"):
        await signed_in(local, lambda _: None, seconds=0.1)
    with pytest.raises(ValueError, match="not an address of this machine"):
        await signed_in(local, lambda _: None, "https://evil.example/callback")


async def test_a_sign_in_that_has_ended_is_refused(local: Issuer) -> None:
    def token(refresh_token: str) -> SignedIn:
        grant = Grant("old", 0.0, refresh_token)
        return SignedIn(f"{local.url}/token", local.people_client_id, lambda: grant, lambda _: None)

    with pytest.raises(Refused, match="login_required"):
        await token("")()
    with pytest.raises(Refused, match="invalid_grant"):
        await token("of another stage")()


async def test_the_code_goes_to_the_issuers_token_url_only(local: Issuer, issuer: CountingIssuer) -> None:
    """The proof of PKCE is sent, so that a stolen code is worth nothing."""
    addresses = Addresses(f"{local.url}/authorize", issuer.url)
    show: Callable[[str], object] = lambda page: press(page, user="bob")  # noqa: E731
    client = local.people_client_id

    await asyncio.to_thread(sign_in, addresses, client, ["ops"], redirect_url=FREE_PORT, show=show)

    (form,) = issuer.requests
    assert form.keys() == {"grant_type", "client_id", "redirect_uri", "code", "code_verifier"}
    assert re.fullmatch(r"[\w-]{43,128}", form["code_verifier"])
