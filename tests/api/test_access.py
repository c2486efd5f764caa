"""Examples of the reference on a whole stage: their answers, and every kind of token on every route and action.

The matrix of the reference says which are accepted. Each request is an example, and changes nothing for the next one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import urllib3
import websocket

from headrace.core.times import iso
from loadtest.client.websocket import SUBPROTOCOL, WebSocket
from tests.api.conftest import Report, stage_of_examples
from tests.api.tokens import Forger
from tests.e2e.conftest import RunningStage
from tests.worlds.reference import HTTP, WEBSOCKET, answer_violations
from tools.api_reference.access import CONNECT, INVALID, SCOPES, YES, accepted, answer, answer_to_another_user
from tools.api_reference.examples import Example, examples, examples_of

KEYS = accepted(HTTP, WEBSOCKET)
ROUTES = {key: scopes for key, scopes in KEYS.items() if " " in key}
ACTIONS = {key: scopes for key, scopes in KEYS.items() if " " not in key}
STRANGER = ("mallory", "chat:write", "chat:read")
TIMES = ("timestamp", "clickedAt")
FORBIDDEN = "forbidden"
THERE = {"shed": "kitchen"}
"""Rooms that the examples delete, and rooms of the same owner that are there."""

pytestmark = pytest.mark.timeout(900)


class Checks:
    """Counts the answers, and keeps the wrong ones."""

    def __init__(self) -> None:
        self.done = 0
        self.wrong: list[str] = []

    def check(self, what: str, found: str, expected: str) -> None:
        """Compare an answer with the matrix."""
        self.done += 1
        if found != expected:
            self.wrong.append(f"{what}: {found} instead of {expected}")


@pytest.fixture
def checks(request: pytest.FixtureRequest, report: Report) -> Iterator[Checks]:
    found = Checks()
    yield found
    name = request.node.name.removeprefix("test_").replace("_", " ")
    report(f"scopes: {name}: {found.done} answers, {len(found.wrong)} wrong")


@pytest.fixture(scope="module")
def recorded() -> Iterator[tuple[RunningStage, list[Example]]]:
    """A stage in whose rooms no generated request changes who is there."""
    with stage_of_examples("access") as found:
        yield found


@pytest.fixture(scope="module")
def stage(recorded: tuple[RunningStage, list[Example]]) -> RunningStage:
    return recorded[0]


@pytest.fixture(scope="module")
def forger(stage: RunningStage) -> Forger:
    return Forger(stage)


def test_no_route_accepts_an_invalid_token(stage: RunningStage, forger: Forger, checks: Checks) -> None:
    for kind in INVALID:
        token = forger.token(kind)
        for key, scopes in ROUTES.items():
            expected = YES if scopes is None else "401"
            checks.check(f"{key} with {kind}", of_route(stage, key, token), expected)

    assert not checks.wrong


def test_no_invalid_token_opens_a_connection(stage: RunningStage, forger: Forger, checks: Checks) -> None:
    for kind in INVALID:
        checks.check(kind, of_connection(stage, forger.token(kind)), "401")

    assert not checks.wrong


def test_a_route_accepts_its_scopes_only(stage: RunningStage, checks: Checks) -> None:
    for key, scopes in ROUTES.items():
        for granted in grants(scopes):
            token = stage.token(owner_of(key), *granted)
            checks.check(f"{key} with {granted}", of_route(stage, key, token), answer(key, scopes, granted))

    assert not checks.wrong


def test_a_connection_and_its_frames_accept_their_scopes_only(stage: RunningStage, checks: Checks) -> None:
    for key, scopes in {CONNECT: [], **ACTIONS}.items():
        for granted in grants(scopes):
            token = stage.token("alice", *granted)
            found = of_connection(stage, token) if key == CONNECT else of_action(stage, key, token)
            checks.check(f"{key} with {granted}", found, answer(key, scopes, granted))

    assert not checks.wrong


def test_another_user_gets_nothing_of_a_room_or_a_user(stage: RunningStage, checks: Checks) -> None:
    token = stage.token(*STRANGER)
    for key, scopes in KEYS.items():
        expected = answer_to_another_user(key, scopes)
        if expected != "–":
            found = of_route(stage, key, token, THERE) if " " in key else of_action(stage, key, token)
            checks.check(key, found, expected.partition(":")[0])

    assert not checks.wrong


def test_a_page_reads_at_the_opened_connection_why_it_is_refused(stage: RunningStage) -> None:
    offered = [SUBPROTOCOL, stage.token("alice", "ops"), "headrace.forbidden"]
    page = websocket.create_connection(stage.where["websocket_url"], timeout=60.0, subprotocols=offered)
    page.send('{"action": "ping"}')
    answer = json.loads(page.recv())
    page.close()

    assert (page.getsubprotocol(), answer["type"]) == ("headrace.forbidden", "error")


def test_a_frame_after_the_end_of_its_token_is_refused(stage: RunningStage, checks: Checks) -> None:
    token = stage.token("alice", *SCOPES, ttl=5)
    socket = WebSocket(stage.where["websocket_url"], lambda: token, timeout=60.0)
    socket.open()
    time.sleep(5.5)
    for action in ACTIONS:
        checks.check(action, of_frame(socket, action, token), "token_expired")
    socket.close()

    assert not checks.wrong


def test_a_stage_answers_every_example_as_the_contract_says(recorded: tuple[RunningStage, list[Example]]) -> None:
    answers = recorded[1]

    assert [comparable(each) for each in answers] == [comparable(each) for each in examples()]
    assert {each.key: wrong for each in answers if (wrong := answer_violations(each))} == {}


def comparable(example: Example) -> tuple[Any, ...]:
    """An answer without times and cursors, which differ between recordings."""
    answer = example.answer
    fields = sorted(answer) if isinstance(answer, dict) else type(answer).__name__
    code = answer["error"]["code"] if "error" in fields else None
    return example.key, example.name, example.status, fields, code


def grants(scopes: list[str] | None) -> list[list[str]]:
    """Each scope alone, all that the route does not accept, and none."""
    return [*([scope] for scope in SCOPES), [scope for scope in SCOPES if scope not in (scopes or ())], []]


def owner_of(key: str) -> str:
    """The user whose data the example of a route asks for."""
    return example_of(key).request["path"].get("userId", "alice") if " /users/" in key else "alice"


def example_of(key: str) -> Example:
    return next(each for each in examples_of(key) if each.name == "ok")


def of_route(stage: RunningStage, key: str, token: str, instead: Mapping[str, str] | None = None) -> str:
    """``YES``, or the status with which the example of a route is refused; with other values ``instead``."""
    example = example_of(key)
    method, path = key.split()
    for name, value in example.request["path"].items():
        path = path.replace(f"{{{name}}}", quote((instead or {}).get(value, value), safe=""))
    url = f"{stage.where['http_url']}{path}?{urlencode(example.request['query'])}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    body = timed_now(example.request["body"])
    found = urllib3.request(method, url, headers=headers, json=body, timeout=60.0, retries=False)
    content = found.json()
    if isinstance(content, dict) and FORBIDDEN in codes_of(content):
        return "403"
    return str(found.status) if found.status in (401, 403, 409) or found.status >= 500 else YES


def of_connection(stage: RunningStage, token: str) -> str:
    """``YES``, or the status with which a connection is refused."""
    offered = [SUBPROTOCOL, token] if token else None
    try:
        websocket.create_connection(stage.where["websocket_url"], timeout=60.0, subprotocols=offered).close()
    except websocket.WebSocketBadStatusException as refused:
        return str(refused.status_code)
    return YES


def of_action(stage: RunningStage, action: str, token: str) -> str:
    """``YES``, the code with which the example of an action is refused, or the status if there is no connection."""
    if (refused := of_connection(stage, token)) != YES:
        return refused
    socket = WebSocket(stage.where["websocket_url"], lambda: token, timeout=60.0)
    socket.open()
    try:
        return of_frame(socket, action, token)
    finally:
        socket.close()


def of_frame(socket: WebSocket, action: str, token: str) -> str:
    body = timed_now(example_of(action).request["body"])
    found = socket.request({**body, "token": token} if "token" in body else body)
    refused = [each for each in codes_of(found) if each in (FORBIDDEN, "token_expired", "internal", "unavailable")]
    return refused[0] if refused else YES


def codes_of(content: dict[str, Any]) -> list[str]:
    """The codes of an answer's error and of those of its events."""
    return [each["error"]["code"] for each in [content, *content.get("results", [])] if "error" in each]


def timed_now(body: Any) -> Any:
    """A body of an example with the time now, since its times are too old."""
    if isinstance(body, list):
        return [timed_now(each) for each in body]
    if not isinstance(body, dict):
        return body
    return {name: iso(time.time_ns() // 1000) if name in TIMES else timed_now(value) for name, value in body.items()}
