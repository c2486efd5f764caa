"""OAuth's grants: client credentials, authorization code with PKCE, and refresh tokens.

A program has the client id ``local`` and the secret of the stage. A person signs in on the page ``/authorize`` as any
user, without a password: only the user of the stage knows the client id for people.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from aiohttp import web
from cryptography.fernet import Fernet, InvalidToken
from pydantic import TypeAdapter, ValidationError

from localstage.gateway.issuerkey import IssuerKey
from localstage.gateway.serving import json_response, message_response
from localstage.gateway.tokenrequest import Name, Scope

FORM = "application/x-www-form-urlencoded"
CODE_SECONDS = 300
REFRESH_SECONDS = 30 * 24 * 3600
TOKEN_SECONDS = 3600
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_PAGE = Template(Path(__file__).with_name("sign_in.html").read_text(encoding="utf-8"))

Issue = Callable[..., str]
"""Issues a token: :meth:`Issuer.issue`."""


class Refusal(Exception):
    """A request is refused with one of OAuth's error codes."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.answer = {"error": code, "error_description": text}


class Grants:
    """Signs people in, and gives tokens to programs and people.

    Args:
        client_id: the client of programs, and of the tokens.
        key: has the secrets.
        issue: issues a token for a user and scopes.
    """

    def __init__(self, client_id: str, key: IssuerKey, issue: Issue) -> None:
        self._client_id = client_id
        self._key = key
        self._issue = issue
        self.scopes: Sequence[str] = ()
        """What a program gets that asks for no scopes, as from Cognito: all that the stage has."""
        self._used: set[str] = set()
        """The codes that were exchanged. A stage does not live long enough to forget one."""

    @property
    def people_client_id(self) -> str:
        """The client id of people; only the user of the stage may know it."""
        return f"people-{self._key.derived('sign in').hex()[:32]}"

    async def answer_authorize(self, request: web.BaseRequest) -> web.StreamResponse:
        """Show the page where a person signs in, or redirect with the code of the user that signed in."""
        query = request.query
        back = query.get("redirect_uri", "")
        if not self._is_people(query.get("client_id")):
            return message_response(400, "client_id: not the one of this stage; its stage.json has it")
        if (where := urlsplit(back)).scheme != "http" or where.hostname not in _LOOPBACK:
            return message_response(400, "redirect_uri: allowed are addresses of this machine, http://localhost:…")
        try:
            scopes = self._checked(query)
            if request.method != "POST":
                text = _PAGE.substitute(scope=html.escape(" ".join(scopes)))
                headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
                return web.Response(text=text, content_type="text/html", headers=headers)
            form = await request.post()
            if form.get("cancel"):
                raise Refusal("access_denied", "the person cancelled")
            granted = {"user": _of_type(Name, form.get("user"), "user"), "scopes": scopes}
            code = self._seal("code", {**granted, "back": back, "challenge": query["code_challenge"]})
            answer = {"code": code}
        except Refusal as refusal:
            answer = refusal.answer
        state = {"state": query["state"]} if "state" in query else {}
        sign = "&" if where.query else "?"
        return web.Response(status=302, headers={"Location": f"{back}{sign}{urlencode({**answer, **state})}"})

    def _checked(self, query: Mapping[str, str]) -> list[str]:
        """The scopes that a request to sign in asks for, if it is one of a code with PKCE."""
        if query.get("response_type") != "code":
            raise Refusal("unsupported_response_type", "response_type: the allowed value is code")
        is_pkce = query.get("code_challenge_method") == "S256" and _CHALLENGE.fullmatch(query.get("code_challenge", ""))
        if not is_pkce:
            raise Refusal("invalid_request", "code_challenge: a SHA-256 in base64url with the method S256 is required")
        return _scopes(query)

    async def answer_token(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a form that asks for a token."""
        if request.method != "POST":
            return message_response(405, "Method Not Allowed")
        try:
            form = cast(Mapping[str, str], await request.post())
            answer = self._granted(form, request.headers.get("Authorization", ""))
        except web.HTTPRequestEntityTooLarge:
            return message_response(413, "Request Entity Too Large")
        except Refusal as refusal:
            status = 401 if refusal.answer["error"] == "invalid_client" else 400
            return json_response(status, refusal.answer, {"Cache-Control": "no-store"})
        return json_response(200, answer, {"Cache-Control": "no-store"})

    def _granted(self, form: Mapping[str, str], authorization: str) -> dict[str, Any]:
        client_id, secret = _client(form, authorization)
        grant = form.get("grant_type")
        if grant == "client_credentials":
            if client_id != self._client_id or not _same(secret, self._key.token_secret):
                raise Refusal("invalid_client", f"the client {self._client_id} has the secret of the token_url")
            return self._token(self._client_id, _scopes({"scope": " ".join(self.scopes), **form}))
        if grant not in ("authorization_code", "refresh_token"):
            known = "authorization_code, client_credentials, refresh_token"
            raise Refusal("unsupported_grant_type", f"grant_type: the allowed values are {known}")
        if not self._is_people(client_id):
            raise Refusal("invalid_client", "client_id: not the one of this stage; its stage.json has it")
        if grant == "refresh_token":
            granted = self._open("refresh", form.get("refresh_token", ""), REFRESH_SECONDS)
            return self._token(granted["user"], granted["scopes"])
        code = form.get("code", "")
        granted = self._open("code", code, CODE_SECONDS)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        is_same = granted["challenge"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if code in self._used or form.get("redirect_uri") != granted["back"] or not is_same:
            raise Refusal("invalid_grant", "the code was used before, or asked for by another program")
        self._used.add(code)
        refresh = self._seal("refresh", {"user": granted["user"], "scopes": granted["scopes"]})
        return {**self._token(granted["user"], granted["scopes"]), "refresh_token": refresh}

    def _token(self, user: str, scopes: list[str]) -> dict[str, Any]:
        token = self._issue(user, scopes, ttl=TOKEN_SECONDS)
        return {"access_token": token, "expires_in": TOKEN_SECONDS, "token_type": "Bearer"}

    def _is_people(self, client_id: str | None) -> bool:
        return _same(client_id or "", self.people_client_id)

    def _seal(self, purpose: str, content: dict[str, Any]) -> str:
        return self._fernet(purpose).encrypt(json.dumps(content).encode()).decode()

    def _open(self, purpose: str, sealed: str, seconds: int) -> dict[str, Any]:
        try:
            return dict(json.loads(self._fernet(purpose).decrypt(sealed, ttl=seconds)))
        except InvalidToken:
            raise Refusal("invalid_grant", f"the {purpose} is not of this stage, or has expired") from None

    def _fernet(self, purpose: str) -> Fernet:
        return Fernet(base64.urlsafe_b64encode(self._key.derived(purpose)))


def _scopes(asked: Mapping[str, str]) -> list[str]:
    scopes: list[str] = _of_type(list[Scope], asked.get("scope", "").split(), "scope")
    if not scopes:
        raise Refusal("invalid_scope", "scope: name the scopes, such as chat:read chat:write")
    return scopes


def _of_type(kind: Any, value: object, field: str) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise Refusal("invalid_request", f"{field}: {error.errors()[0]['msg']}") from None


def _client(form: Mapping[str, str], authorization: str) -> tuple[str, str]:
    """The client id and the secret, from the header or from the form."""
    kind, _, credentials = authorization.partition(" ")
    if kind.lower() != "basic":
        return form.get("client_id", ""), form.get("client_secret", "")
    try:
        client_id, _, secret = base64.b64decode(credentials, validate=True).decode().partition(":")
    except ValueError:
        raise Refusal("invalid_client", "Authorization: not a client id and a secret") from None
    return client_id, secret


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
