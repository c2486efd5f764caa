"""The frame `authenticate`: one connection, several tokens, one user."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.router import Api, Handler, frame_handler
from headrace.core.caller import Caller
from headrace.core.errors import StoreUnavailable, TokenExpired, Unauthorized
from headrace.core.times import SECOND, iso
from headrace.live.connections import TokenExpiries
from headrace.live.routes import RenewalServices
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections
from tests.worlds.functions import routes_of
from tests.worlds.senders import NOW
from tests.worlds.write_path import frame_event

SCOPES = "chat:read chat:write"
TTL = 3600


class Verifier:
    """Stands for a TokenVerifier: ``tokens`` by their text."""

    prefix = ""

    def __init__(self) -> None:
        self.tokens: dict[str, Caller | Exception] = {}

    def verify(self, token: str) -> Caller:
        found = self.tokens.get(token, Unauthorized("the token cannot be trusted"))
        if isinstance(found, Exception):
            raise found
        return found


class World:
    """One connection of alice, opened with a token of one hour."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.first_expiry = self.clock.now() // SECOND + TTL
        self.connections = MemoryConnections(self.clock)
        self.verifier = Verifier()
        self.alice = Caller("alice", "Alice", frozenset(SCOPES.split()), self.first_expiry)
        self.connections.open("c-1", self.alice)
        services = RenewalServices(self.verifier, self.connections)  # type: ignore[arg-type]
        self.renewing = frame_handler(Api(routes_of("renew_connection"), lambda: services, self.clock))
        self.sending = self.environment()

    def environment(self) -> Handler:
        """An environment of receive_frame."""
        expiries = TokenExpiries(lambda each: self.connections.expiries(each), self.clock)
        return frame_handler(
            Api(routes_of("receive_frame"), lambda: None, self.clock),
            renewed=lambda each: expiries.get_many([each])[each],
        )

    def token(self, text: str = "new", *, subject: str = "alice", scopes: str = SCOPES, seconds: int = TTL) -> str:
        """A token that expires that many seconds from now."""
        expires_at = self.clock.now() // SECOND + seconds
        self.verifier.tokens[text] = Caller(subject, subject.title(), frozenset(scopes.split()), expires_at)
        return text

    def authenticate(self, token: object, connection: str = "c-1") -> dict[str, Any]:
        return self._ask(self.renewing, {"action": "authenticate", "token": token}, connection)

    def ping(self, frames: Handler | None = None) -> dict[str, Any]:
        return self._ask(frames or self.sending, {"action": "ping"}, "c-1")

    def _ask(self, frames: Handler, body: dict[str, Any], connection: str) -> dict[str, Any]:
        event = frame_event(body, scope=SCOPES, exp=self.first_expiry)
        event["requestContext"] |= {"routeKey": body["action"], "connectionId": connection}
        answer = frames(event)
        found: dict[str, Any] = json.loads(answer["body"])
        return found


@pytest.fixture
def world() -> World:
    return World()


def code(answer: dict[str, Any]) -> str:
    assert answer["type"] == "error"
    return str(answer["error"]["code"])


def test_a_new_token_extends_the_connection_beyond_its_first_one(world: World) -> None:
    world.clock.advance(TTL - 60)
    answer = world.authenticate(world.token())

    assert answer["type"] == "authenticated"
    assert answer["tokenExpiresAt"] == iso((world.first_expiry + TTL - 60) * SECOND)
    world.clock.advance(120)
    assert world.ping()["tokenExpiresAt"] == answer["tokenExpiresAt"]
    world.clock.advance(TTL)
    assert code(world.ping()) == "token_expired"


def test_the_row_of_a_connection_is_read_only_after_its_first_token_has_expired(world: World) -> None:
    world.authenticate(world.token(seconds=TTL + 600))
    calls = world.connections.table.calls
    for _ in range(3):
        world.ping()
    assert world.connections.table.calls == calls

    world.clock.advance(TTL + 1)
    for _ in range(3):
        world.ping()
    assert world.connections.table.calls == calls + 1


def test_an_environment_that_knew_the_connection_as_expired_sees_its_renewal(world: World) -> None:
    world.clock.advance(TTL)
    others = [world.environment(), world.environment()]
    for frames in others:
        assert code(world.ping(frames)) == "token_expired"

    world.authenticate(world.token())

    assert [world.ping(frames)["type"] for frames in others] == ["pong", "pong"]


def test_p12_a_token_of_another_user_or_with_fewer_scopes_is_refused(world: World) -> None:
    for token in (world.token("bob", subject="bob"), world.token("less", scopes="chat:read")):
        answer = world.authenticate(token)
        assert code(answer) == "forbidden"
        assert answer["error"]["details"][0]["field"] == "token"
    world.clock.advance(TTL)
    assert code(world.ping()) == "token_expired"


def test_a_new_token_adds_no_scope_to_the_connection(world: World) -> None:
    world.authenticate(world.token(scopes=f"{SCOPES} events:write"))
    world.clock.advance(TTL - 1)

    assert world.connections.rows["#connection#c-1", "c-1"].keys() == {
        "roomId", "connectionId", "userId", "tokenExpiresAt", "expiresAt", "connectedAt"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [(Unauthorized("forged"), "unauthorized"), (TokenExpired("expired"), "token_expired")],
)
def test_a_token_that_cannot_be_trusted_is_refused(world: World, outcome: Exception, expected: str) -> None:
    world.verifier.tokens["bad"] = outcome

    assert code(world.authenticate("bad")) == expected


def test_a_renewal_that_cannot_be_read_is_unavailable_and_no_expired_token(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expiries(_: object) -> dict[str, int]:
        raise StoreUnavailable("connections cannot be reached")

    monkeypatch.setattr(world.connections, "expiries", expiries)
    assert world.ping()["type"] == "pong"
    world.clock.advance(TTL)

    assert code(world.ping()) == "unavailable"
