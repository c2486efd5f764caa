"""A stage as checks from outside see it: plain requests, connections, what their answers say, and what was found."""

from __future__ import annotations

import asyncio
import functools
import json
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import aiohttp

from ..session import handshake_url, opened_session

SUBPROTOCOL = "headrace.v1"
ANSWER_SECONDS = 35.0
"""Longer than API Gateway waits for a function (30 s)."""

Frames = dict[str, dict[str, Any]]
Result = TypeVar("Result")
Subject = TypeVar("Subject")
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


@dataclass(frozen=True)
class Answer:
    """An answer of the HTTP API as it came, without the client's retries and errors."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def in_session(work: Callable[[aiohttp.ClientSession], Coroutine[Any, Any, Result]]) -> Result:
    """The result of ``work``, which gets a session: checks are plain functions."""

    async def running() -> Result:
        async with opened_session(ANSWER_SECONDS, {}) as session:
            return await work(session)

    return asyncio.run(running())


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
            return in_session(ask)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Failed(f"{self.http_url} does not answer: {type(error).__name__}") from None

    def converse(self, *steps: tuple[dict[str, Any], str], token: str | None = None) -> Frames:
        """Send frames on a new connection; after each, read until a frame of a type, or with a message, comes.

        Returns the last frame of each type, and by its messages. Raises Failed when the connection is refused, when
        none comes, or an error. ``token`` is by default the user's.
        """
        given = self.needed_token() if token is None else token
        if not self.websocket_url:
            raise CannotTell("give WS_URL")

        async def connect(session: aiohttp.ClientSession) -> Frames:
            url = handshake_url(self.websocket_url)
            async with session.ws_connect(url, protocols=(SUBPROTOCOL, given)) as socket:
                return await _conversation(socket, steps)

        try:
            return in_session(connect)
        except aiohttp.WSServerHandshakeError as refused:
            raise Failed(f"the connection is refused with {refused.status}") from None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Failed(f"{self.websocket_url} cannot be reached: {type(error).__name__}") from None

    def needed_token(self) -> str:
        """The user's token. Raises CannotTell without one."""
        if not self.token:
            raise CannotTell("give TOKEN, with the scopes chat:read and chat:write")
        return self.token

    def read(self, path: str) -> Answer:
        """GET ``path`` with the token."""
        return self.request("GET", path, self.needed_token())


async def _conversation(socket: aiohttp.ClientWebSocketResponse, steps: Sequence[tuple[dict[str, Any], str]]) -> Frames:
    found, wanted = Frames(), ""
    try:
        for frame, wanted in steps:
            if frame:
                await socket.send_str(json.dumps({**frame, "requestId": "doctor"}))
            while wanted not in found:
                answer = json.loads(await socket.receive_str(timeout=ANSWER_SECONDS))
                if answer.get("type") == "error":
                    raise Failed(f"{answer['error'].get('code')}: {answer['error'].get('message')}")
                names = [answer.get("type"), *(item.get("message") for item in answer.get("items", ()))]
                found |= dict.fromkeys(names, answer)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError, TypeError) as error:
        said = f"no frame {wanted} came ({type(error).__name__}); see LastDeploymentStatusMessage of the stage"
        raise Failed(said) from None
    return found


def run(name: str, check: Callable[[], str]) -> Finding:
    """The finding of one check."""
    try:
        return Finding(name, "pass", check())
    except Failed as failure:
        return Finding(name, "fail", str(failure))
    except CannotTell as reason:
        return Finding(name, "unknown", str(reason))


def run_all(checks: Mapping[str, Callable[[Subject], str]], subject: Subject) -> Iterator[Finding]:
    """The finding of each check of a subject, one after the other."""
    for name, check in checks.items():
        yield run(name, functools.partial(check, subject))


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
