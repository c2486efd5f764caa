"""Inputs that were once answered wrongly, with their right answers, on a whole stage: ``tests/api/inputs/*.yaml``.

A case is a list of steps. ``send`` is a request, or an action of the WebSocket, ``body`` its fields. ``status`` and
``has`` are the answer: each field of ``has`` is in it, and each item of its lists is the next one of a list. ``field``
is what the error is about. ``lacks`` is in no part of the answer. With ``until``, the step is repeated until its answer
is so. With ``at_once``, it is sent so often at the same time, and its ``statuses`` are counted. ``keep`` gives values
of the answer a name. ``$room``, ``$ad`` and the users' names are of this case alone. ``OTHERS`` are no requests.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import yaml

from tests.api.tokens import Forger
from tests.e2e.clients import Client, now, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_attachments import uploaded
from tests.e2e.test_dead_letters import Queues, moment

CASES = {
    f"{path.stem}: {name}": steps
    for path in sorted((Path(__file__).parent / "inputs").glob("*.yaml"))
    for name, steps in yaml.safe_load(path.read_text()).items()
}
SCOPES = {"producer": ("events:write", "chat:read"), "operator": ("ops", "chat:read")}
"""Of users that are no senders."""
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "k" * 22 + "==",
}
OFFSET = re.compile(r"\$now([+-]\d+)")


class Case:
    """The users of a case, and the values that its steps keep."""

    def __init__(self, stage: RunningStage) -> None:
        self._stage = stage
        self._clients: dict[str, Client] = {}
        self._values = {"room": unique("room"), "ad": unique("ad"), "now": now()}
        self._values["ms"] = str(time.time_ns() // 1_000_000)

    def run(self, step: dict[str, Any]) -> None:
        """Send what the step says, and compare the answer."""
        client = self._client(step.get("as", "ann"))
        expected = self._filled(step.get("has", {}))
        status = step.get("status", 200)

        def good(found: tuple[int, Any]) -> bool:
            return found[0] == status and has(found[1], expected)

        def send() -> tuple[int, Any]:
            return self._sent(client, step)

        if "at_once" in step:
            with ThreadPoolExecutor(step["at_once"]) as pool:
                answers = list(pool.map(lambda _: send(), range(step["at_once"])))
            assert Counter(status for status, _ in answers) == step["statuses"], answers
            return
        found = until(send, good) if step.get("until") else send()
        assert good(found), (step["send"], found, expected)
        if "field" in step:
            assert step["field"] in [each["field"] for each in found[1]["error"]["details"]], found
        if "lacks" in step:
            assert step["lacks"] not in json.dumps(found[1], ensure_ascii=False)
        for name, path in step.get("keep", {}).items():
            self._values[name] = at(found[1], path)

    def _client(self, name: str) -> Client:
        if name not in self._clients:
            self._clients[name] = Client(self._stage, unique(name), *SCOPES.get(name, ()))
            self._values[name] = self._clients[name].user
        return self._clients[name]

    def _sent(self, client: Client, step: dict[str, Any]) -> tuple[int, Any]:
        body = self._filled(step.get("body"))
        method, _, path = step["send"].partition(" ")
        if method in OTHERS:
            return OTHERS[method](self._stage, client, self._values, body)
        if not path:
            answer = client.connect().request({"action": method, **body})
            return (400 if answer["type"] == "error" else 200), answer
        return client.http(method, self._filled(path, quoted=True), body)[:2]

    def _filled(self, value: Any, *, quoted: bool = False) -> Any:
        if isinstance(value, str):
            values = {name: quote(each, safe="") for name, each in self._values.items()} if quoted else self._values
            value = OFFSET.sub(lambda found: now(seconds=int(found[1])), value)
            return Template(value).substitute(values)
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, dict):
            return {self._filled(name): self._filled(each) for name, each in value.items()}
        return value


def _upload(_stage: RunningStage, client: Client, values: dict[str, str], _body: Any) -> tuple[int, Any]:
    return 200, uploaded(client, values["room"], b"a text", "text/plain", name="plain.txt")


def _download(_stage: RunningStage, client: Client, _values: dict[str, str], body: Any) -> tuple[int, Any]:
    answer = client.pool.request("GET", body["link"])
    return answer.status, {name.lower(): value for name, value in answer.headers.items()}


def _letter(stage: RunningStage, _client: Client, values: dict[str, str], body: Any) -> tuple[int, Any]:
    """Put a letter into the dead lane, with ``$failed`` as the time of its first failure."""
    values["failed"], window = moment()
    values["next"] = window["to"]
    queues = Queues(stage)
    queues.send(queues.dead, json.dumps(body["letter"]), firstFailedAt=values["failed"], **body["attributes"])
    return 200, {}


def _connect(stage: RunningStage, _client: Client, _values: dict[str, str], body: Any) -> tuple[int, Any]:
    """A handshake with a line for each subprotocol. ``ahead`` is a token of an issuer whose clock is 2 s ahead."""
    forger = Forger(stage)
    tokens = {"valid": forger.valid, "ahead": forger.signed(iat=int(time.time()) + 2)}
    parts = urlsplit(stage.where["websocket_url"])
    connection = HTTPConnection(parts.netloc, timeout=20)
    connection.putrequest("GET", parts.path)
    for name, value in HANDSHAKE.items():
        connection.putheader(name, value)
    for each in body["subprotocols"]:
        connection.putheader("Sec-WebSocket-Protocol", tokens.get(each, each))
    connection.endheaders()
    with closing(connection):
        return connection.getresponse().status, {}


OTHERS = {"upload": _upload, "download": _download, "letter": _letter, "connect": _connect}


def has(found: Any, expected: Any) -> bool:
    """Whether an answer has what is expected: fields may be more, items of a list may not."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(name in found and has(found[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(has, found, expected))
    return bool(found == expected)


def at(found: Any, path: str) -> Any:
    """The value at ``items.0.key`` of an answer."""
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


@pytest.mark.parametrize("name", CASES)
def test_an_input_of_the_list_is_answered_as_it_says(platform: RunningStage, name: str) -> None:
    case = Case(platform)
    for step in CASES[name]:
        case.run(step)
