"""Checks a stage from outside, as a client with a token, and prints one line per check."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from .doctor_stage import ANSWER_SECONDS, CannotTell, Failed, Stage, body_of
from .stage import LOOPBACK

ORIGIN = "https://doctor.example"
NOT_A_TOKEN = "not.a.token"  # noqa: S105
READ_SECONDS = 20.0

Check = Callable[["Stage"], str]
"""Returns the detail of a check that passed, or raises :class:`Failed` or :class:`CannotTell`."""


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
        stage.converse(token=NOT_A_TOKEN)
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
