"""Checks a stage from outside, as a client with a token, and prints one line per check."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import aiohttp

SUBPROTOCOL = "headrace.v1"
ORIGIN = "https://doctor.example"
NOT_A_TOKEN = "not.a.token"  # noqa: S105
ANSWER_SECONDS = 35.0
"""Longer than API Gateway waits for a function (30 s)."""
READ_SECONDS = 20.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")

Verdict = Literal["pass", "fail", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; ``unknown``: it needs a right or a setting that was not given."""

    check: str
    verdict: Verdict
    detail: str


class CannotTell(Exception):
    """A check has no result; the message says what it needs."""


class Failed(Exception):
    """A check failed; the message says what came and what should have come."""


Result = TypeVar("Result")
Check = Callable[["Stage"], str]
"""Returns the detail of a check that passed, or raises :class:`Failed` or :class:`CannotTell`."""


@dataclass(frozen=True)
class Answer:
    """An answer of the HTTP API as it came, without the client's retries and errors."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class Network:
    """Requests and connections for checks, which are plain functions: an event loop that runs while one waits."""

    def __init__(self) -> None:
        self._loop = asyncio.Runner()
        self._session: aiohttp.ClientSession | None = None

    def run(self, work: Callable[[aiohttp.ClientSession], Coroutine[Any, Any, Result]]) -> Result:
        """The result of ``work``, which gets the session."""

        async def running() -> Result:
            if self._session is None:
                timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
                self._session = aiohttp.ClientSession(timeout=timeout, trust_env=True)
            return await work(self._session)

        return self._loop.run(running())

    def close(self) -> None:
        """Close the session and the loop."""
        if self._session is not None:
            self._loop.run(self._session.close())
        self._loop.close()


class Socket:
    """A WebSocket whose calls wait."""

    def __init__(self, network: Network, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._network = network
        self._socket = socket

    def send(self, text: str) -> None:
        """Send a text."""
        self._network.run(lambda _: self._socket.send_str(text))

    def recv(self) -> str:
        """The next text. Raises TypeError when the connection ends."""
        return self._network.run(lambda _: self._socket.receive_str(timeout=ANSWER_SECONDS))

    def close(self) -> None:
        """Close the connection."""
        self._network.run(lambda _: self._socket.close())


@dataclass(frozen=True)
class Stage:
    """A stage and a user's token for it.

    ``operator_token`` may be another one, with the scope ``ops``; ``friend_token`` is of a second user.
    """

    http_url: str
    websocket_url: str
    token: str = ""
    operator_token: str = ""
    friend_token: str = ""
    room: str = field(default_factory=lambda: f"doctor-{uuid.uuid4().hex[:12]}")
    network: Network = field(default_factory=Network)

    def request(self, method: str, path: str, token: str = "", *, body: object = None, **headers: str) -> Answer:
        """One answer of the HTTP API. Raises Failed when there is none."""
        if token:
            headers["authorization"] = f"Bearer {token}"
        url = self.http_url.rstrip("/") + path

        async def ask(session: aiohttp.ClientSession) -> Answer:
            sent = {"headers": headers, "json": body or None, "allow_redirects": False}
            async with session.request(method, url, **sent) as answer:  # type: ignore[arg-type]
                return Answer(answer.status, answer.headers, await answer.read())

        try:
            return self.network.run(ask)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Failed(f"{self.http_url} does not answer: {type(error).__name__}") from None

    def connect(self, token: str) -> Socket:
        """A connection to the WebSocket API. Raises Failed, with the status, when it is refused."""
        if not self.websocket_url:
            raise CannotTell("give WS_URL")

        async def connect(session: aiohttp.ClientSession) -> aiohttp.ClientWebSocketResponse:
            return await session.ws_connect(self.websocket_url, protocols=(SUBPROTOCOL, token))

        try:
            return Socket(self.network, self.network.run(connect))
        except aiohttp.WSServerHandshakeError as refused:
            raise Failed(f"the connection is refused with {refused.status}") from None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Failed(f"{self.websocket_url} cannot be reached: {type(error).__name__}") from None

    def converse(self, *steps: tuple[dict[str, Any], str]) -> dict[str, dict[str, Any]]:
        """Send frames on a new connection; after each, read until a frame of a type, or with a message of an id, comes.

        Returns the last frame of each type, and by the ids of its messages. Raises Failed when none comes, or an error.
        """
        found: dict[str, dict[str, Any]] = {}
        connection, wanted = self.connect(self.needed_token()), ""
        try:
            for frame, wanted in steps:
                if frame:
                    connection.send(json.dumps({**frame, "requestId": "doctor"}))
                while wanted not in found:
                    answer = json.loads(connection.recv())
                    if answer.get("type") == "error":
                        raise Failed(f"{answer['error'].get('code')}: {answer['error'].get('message')}")
                    names = [answer.get("type"), *(item.get("messageId") for item in answer.get("items", ()))]
                    found |= dict.fromkeys(names, answer)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, TypeError) as error:
            raise Failed(
                f"no frame {wanted} came ({type(error).__name__}); see LastDeploymentStatusMessage of the stage"
            ) from None
        finally:
            connection.close()
        return found

    def needed_token(self) -> str:
        """The user's token. Raises CannotTell without one."""
        if not self.token:
            raise CannotTell("give TOKEN, with the scopes chat:read and chat:write")
        return self.token

    def read(self, path: str) -> Answer:
        """GET ``path`` with the token."""
        return self.request("GET", path, self.needed_token())


def examine(stage: Stage, checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Run checks, one after the other."""
    for name, check in checks.items():
        yield run(name, lambda check=check: check(stage))  # type: ignore[misc]


def run(name: str, check: Callable[[], str]) -> Finding:
    """The finding of one check."""
    try:
        return Finding(name, "pass", check())
    except Failed as failure:
        return Finding(name, "fail", str(failure))
    except CannotTell as reason:
        return Finding(name, "unknown", str(reason))


def tls(stage: Stage) -> str:
    """The certificate is valid, and TLS is 1.2 or newer."""
    parts = urlsplit(stage.http_url)
    if parts.scheme != "https":
        if parts.hostname in LOOPBACK:
            raise CannotTell("the stage is on this machine, without TLS")
        raise Failed(f"{stage.http_url} is not https")
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((str(parts.hostname), parts.port or 443), timeout=ANSWER_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as secured,
        ):
            version = secured.version() or "no TLS"
    except OSError as error:
        raise Failed(f"no TLS connection: {error}") from None
    if version not in ("TLSv1.2", "TLSv1.3"):
        raise Failed(f"{version}; it should be TLSv1.2 or newer")
    return version


def health(stage: Stage) -> str:
    """GET /health is 200, and each part is ok."""
    answer = stage.request("GET", "/health")
    body = body_of(answer)
    if answer.status != 200 or body.get("status") != "ok":
        raise Failed(f"{answer.status} {json.dumps(body)[:300]}")
    return f"{', '.join(body.get('parts', {}))} answer"


def refuses(token: str) -> Check:
    """A check that a request without a valid token is a 401 in API Gateway's form."""

    def check(stage: Stage) -> str:
        answer = stage.request("GET", f"/rooms/{stage.room}/messages", token)
        body = body_of(answer)
        if answer.status != 401 or body.get("message") != "Unauthorized":
            raise Failed(f"{answer.status} {json.dumps(body)[:200]}; it should be 401 {{'message': 'Unauthorized'}}")
        return "401 Unauthorized"

    return check


def socket_refuses(stage: Stage) -> str:
    """A connection with a wrong token is refused with 401."""
    try:
        stage.connect(NOT_A_TOKEN).close()
    except Failed as failure:
        if str(failure).endswith(" 401"):
            return "401"
        raise Failed(f"{failure}; it should be 401") from None
    raise Failed("the connection was accepted; it should be refused with 401")


def scopes(stage: Stage) -> str:
    """A token without the scope ops cannot read the status."""
    answer = stage.read("/status")
    if answer.status == 200:
        raise CannotTell("TOKEN has the scope ops; give one without")
    if answer.status not in (401, 403):
        raise Failed(f"{answer.status}; it should be 401 or 403")
    return f"{answer.status} without the scope ops"


def headers(stage: Stage) -> str:
    """An answer has its request id, is not cached, and is read as what it says."""
    answer = stage.read(f"/rooms/{stage.room}/messages")
    wrong = [
        f"{name}: {answer.headers.get(name)}"
        for name, value in (("x-request-id", ""), ("cache-control", "no-store"), ("x-content-type-options", "nosniff"))
        if not answer.headers.get(name) or value not in str(answer.headers.get(name))
    ]
    if answer.status in (401, 403):
        raise Failed(f"{answer.status}: the token is not accepted; see JwtIssuer, JwtAudience and ScopePrefix")
    if wrong:
        raise Failed(", ".join(wrong))
    return "x-request-id, no-store, nosniff"


def cors(stage: Stage) -> str:
    """A preflight request is answered by the parameter CorsOrigins."""
    wanted = {"origin": ORIGIN, "access-control-request-method": "GET"}
    answer = stage.request("OPTIONS", f"/rooms/{stage.room}/messages", **wanted)
    allowed = answer.headers.get("access-control-allow-origin")
    if answer.status >= 400:
        raise Failed(f"a preflight request is answered with {answer.status}")
    if allowed in ("*", ORIGIN):
        return f"any origin ({allowed}): name yours in CorsOrigins of a production stage"
    return f"pages of {ORIGIN} are refused, as they should be"


def ping(stage: Stage) -> str:
    """A ping frame is answered. Without route responses no frame is."""
    began = time.monotonic()
    answer = stage.converse(({"action": "ping"}, "pong"))["pong"]
    if not answer.get("correlationId"):
        raise Failed(f"{json.dumps(answer)[:200]}; it should have a correlationId")
    return f"pong after {time.monotonic() - began:.2f} s with the handshake"


def status(stage: Stage) -> str:
    """Lanes, breakers and probes of GET /status are well."""
    token = stage.operator_token or stage.token
    if not token:
        raise CannotTell("give TOKEN, with the scope ops")
    answer = stage.request("GET", "/status", token)
    if answer.status in (401, 403):
        raise CannotTell(f"{answer.status}: it needs a token with the scope ops in OPS_TOKEN")
    body = body_of(answer)
    lanes = body.get("lanes", {})
    wrong = [
        *([f"accepting {body.get('accepting')}"] if body.get("accepting") != "main" else []),
        *([f"lane main is {main}"] if (main := lanes.get("main", {}).get("state")) != "ok" else []),
        *(["the dead lane holds letters"] if lanes.get("dead", {}).get("state") == "holding" else []),
        *(["a breaker is open"] if body.get("breakers", {}).get("state") == "open" else []),
        *(["probes are missing"] if body.get("probes", {}).get("state") == "missing" else []),
    ]
    if answer.status != 200 or wrong:
        raise Failed(f"{answer.status} {'; '.join(wrong)}")
    return "lanes, breakers and probes are well"


CHECKS: dict[str, Check] = {
    "TLS": tls,
    "health": health,
    "no token": refuses(""),
    "wrong token": refuses(NOT_A_TOKEN),
    "wrong token, WebSocket": socket_refuses,
    "scopes": scopes,
    "headers": headers,
    "CORS": cors,
    "ping frame": ping,
    "status": status,
}
"""The checks in their order; each has the docstring of what must hold."""


def body_of(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer; empty if it has none."""
    try:
        content = json.loads(answer.data)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def why_refused(answer: Answer) -> str:
    """The status, code and text of an error, such as ``403 forbidden: you are not in this room``."""
    error = body_of(answer).get("error", {})
    return f"{answer.status} {error.get('code')}: {error.get('message')}" if error else str(answer.status)
