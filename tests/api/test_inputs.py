"""Inputs that were once answered wrongly, with their right answers, on a whole stage: ``tests/api/inputs/*.yaml``.

A case is a list of steps. ``send`` is a request, or an action of the WebSocket, ``body`` its fields. ``status`` and
``has`` are the answer: each field of ``has`` is in it, and each item of its lists is the next one of a list. ``field``
is what the error is about. ``lacks`` is in no part of the answer. With ``until``, the step is repeated until its answer
is so. With ``at_once``, it is sent so often at the same time, and its ``statuses`` are counted. ``keep`` gives values
of the answer a name. ``$room``, ``$ad`` and the users' names are of this case alone. ``OTHERS`` are the steps of code.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import pytest
import websocket
import yaml

from loadtest.client.websocket import SUBPROTOCOL
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
OFFSET = re.compile(r"\$now([+-]\d+)")


def answered(found: tuple[int, Any]) -> bool:
    """Whether a request need not be sent again."""
    return found[0] != 503


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
                answers = list(pool.map(lambda _: until(send, answered), range(step["at_once"])))
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
        if other := OTHERS.get(method):
            return other(self, client, body)
        if not path:
            answer = client.connect().request({"action": method, **body})
            return (400 if answer["type"] == "error" else 200), answer
        return client.http(method, self._filled(path, quoted=True), body)[:2]

    def upload(self, client: Client, _body: Any) -> tuple[int, Any]:
        """Upload a text for ``$room``; its attachment."""
        return 200, uploaded(client, self._values["room"], b"a text", "text/plain", name="plain.txt")

    def download(self, client: Client, body: Any) -> tuple[int, Any]:
        """Open the ``link``; the headers of the answer."""
        answer = client.pool.request("GET", body["link"])
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}

    def letter(self, _client: Client, body: Any) -> tuple[int, Any]:
        """Put a ``letter`` into the dead lane, which failed first between ``$failed`` and ``$next``."""
        self._values["failed"], window = moment()
        self._values["next"] = window["to"]
        queues, more = Queues(self._stage), body.get("attributes", {})
        queues.send(queues.dead, json.dumps(body["letter"]), firstFailedAt=self._values["failed"], **more)
        return 200, {}

    def connect(self, _client: Client, body: Any) -> tuple[int, Any]:
        """Open a connection with two lines of subprotocols. ``ahead``: the issuer's clock is two seconds ahead."""
        token = Forger(self._stage).signed(iat=int(time.time()) + (2 if body["token"] == "ahead" else 0))
        more = [f"Sec-WebSocket-Protocol: {token}"]
        url = self._stage.where["websocket_url"]
        websocket.create_connection(url, timeout=20.0, subprotocols=[SUBPROTOCOL], header=more).close()
        return 101, {}

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


OTHERS = {"upload": Case.upload, "download": Case.download, "letter": Case.letter, "connect": Case.connect}


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
