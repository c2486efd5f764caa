"""The token issuer: emulates a Cognito user pool.

It signs access tokens with an RSA key stored in the stage's folder, publishes the public half, and gives tokens to
callers that know the secret in ``token_url``, and by OAuth's grants (:mod:`.grants`). Key, secrets and port are the
same at the next start, so that tokens stay valid after a restart.
"""

from __future__ import annotations

import hmac
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jwt
from aiohttp import web

from localstage.core.errors import NotRunning
from localstage.gateway.grants import FORM, Grants
from localstage.gateway.issuerkey import IssuerKey
from localstage.gateway.serving import TcpListener, foreign_response, json_response, message_response
from localstage.gateway.tokenrequest import BadTokenRequest, TokenRequest
from localstage.services.ports import Ports

CLIENT_ID = "local"
"""The app client that tokens are issued to: their ``client_id`` and ``aud``."""
USER_POOL = "UserPool"
_KEYS, _DISCOVERY = "/.well-known/jwks.json", "/.well-known/openid-configuration"


class Issuer:
    """Issues RS256 access tokens with Cognito's claims.

    Args:
        state_dir: folder of the key (mode 0600) and of the last port.
        url: the issuer's URL, when another process serves it and this one only signs (``localstage token``).
    """

    def __init__(self, state_dir: Path, *, url: str | None = None) -> None:
        self._ports = Ports(state_dir / "issuer-port.json")
        self._key = IssuerKey(state_dir / "issuer.pem")
        self._url = url
        self._listener: TcpListener | None = None
        self.grants = Grants(CLIENT_ID, self._key, self.issue)

    @property
    def url(self) -> str:
        """The issuer: the tokens' ``iss`` and the authorizers' issuer.

        Raises:
            NotRunning: it was neither given nor started.
        """
        if self._url is None:
            raise NotRunning("The token issuer is not running; start the stage with: python -m localstage up")
        return self._url

    @property
    def secret(self) -> str:
        """What requests for tokens must know. It stays the same at the next start."""
        return self._key.token_secret

    @property
    def token_url(self) -> str:
        """Where POST ``{"user", "scopes"}`` gives a token; it contains the secret, so only its user may know it."""
        return f"{self.url}/token?secret={self._key.token_secret}"

    @property
    def people_client_id(self) -> str:
        """The client id with which a person signs in. It contains a secret, so only the stage's user may know it."""
        return self.grants.people_client_id

    async def start(self) -> None:
        """Load or make the key, and listen on the last port if it is free, else on any.

        Raises:
            ServiceError: the key file cannot be used.
        """
        _ = self._key.private  # a wrong file is noticed now, before services start
        self._listener = TcpListener(self._handle, self._ports.take("issuer"), max_body=16 * 1024)
        await self._listener.start()
        self._url = f"http://{self._listener.address}/{USER_POOL}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            await self._listener.stop()
            self._listener = None

    def issue(
        self,
        user: str,
        scopes: Iterable[str],
        *,
        ttl: int = 3600,
        client_id: str = CLIENT_ID,
    ) -> str:
        """Return a signed access token.

        Args:
            user: the subject, which is the user id everywhere.
            scopes: the token's scopes, without prefix added or removed.
            ttl: seconds of life; zero or less gives a token that is already expired.
            client_id: the app client that it is issued to.
        """
        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": user,
            "username": user,
            "client_id": client_id,
            "aud": client_id,
            "scope": " ".join(scopes),
            "token_use": "access",
            "iat": min(now, now + ttl),
            "exp": now + ttl,
            "jti": str(uuid.uuid4()),
        }
        return jwt.encode(claims, self._key.private, algorithm="RS256", headers={"kid": self._key.id})

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if (refused := foreign_response(request)) is not None:
            return refused
        resource = request.path.removeprefix(f"/{USER_POOL}")
        if resource == "/authorize":
            return await self.grants.answer_authorize(request)
        if resource == "/token":
            is_form = request.content_type == FORM
            return await (self.grants.answer_token(request) if is_form else self.answer_token(request))
        if resource not in (_KEYS, _DISCOVERY):
            return message_response(404, "Not Found")
        if request.method != "GET":
            return message_response(405, "Method Not Allowed")
        return json_response(200, {"keys": [self._key.public_jwk]} if resource == _KEYS else self._discovery())

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}{_KEYS}",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "grant_types_supported": ["authorization_code", "client_credentials", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
        }

    def refusal(self, request: web.BaseRequest) -> web.Response | None:
        """A 403 for a request without the secret of this stage, else ``None``."""
        secret = request.query.get("secret", "")
        if not hmac.compare_digest(secret.encode(), self._key.token_secret.encode()):
            return message_response(403, "secret: not the one of this stage; its stage.json has it")
        return None

    async def answer_token(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request for a token."""
        if request.method != "POST":
            return message_response(405, "Method Not Allowed")
        if (refused := self.refusal(request)) is not None:
            return refused
        try:
            wanted = TokenRequest.parse(await request.read())
        except web.HTTPRequestEntityTooLarge:
            return message_response(413, "Request Entity Too Large")
        except BadTokenRequest as error:
            return json_response(400, error.answer)
        token = self.issue(wanted.user, wanted.scopes, ttl=wanted.ttl)
        answer = {"access_token": token, "expires_in": wanted.ttl, "token_type": "Bearer"}
        return json_response(200, answer, {"Cache-Control": "no-store"})
