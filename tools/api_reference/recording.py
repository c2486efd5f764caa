"""Records the examples: sends the requests of ``requests.yaml`` to a running stage, over HTTP and WebSocket.

    python -m tools.api_reference.recording

writes ``examples.json`` beside this module. An example keeps its former request and answer while the request and the
form of the answer are the same, so that a change shows what it changes.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
import yaml

from headrace.core.caller import ANALYTICS_READ, CHAT_READ, CHAT_WRITE, EVENTS_WRITE, OPS
from loadtest.client.target import Target
from loadtest.client.websocket import WebSocket
from tools.api_reference.examples import FILE, Example, examples

REQUESTS = Path(__file__).parent / "requests.yaml"
PATIENCE = 60.0
USERS = {
    "alice": (CHAT_WRITE, CHAT_READ),
    "bob": (CHAT_WRITE, CHAT_READ),
    "carol": (CHAT_WRITE, CHAT_READ),
    "dave": (CHAT_WRITE, CHAT_READ),
    "producer": (EVENTS_WRITE,),
    "analyst": (ANALYTICS_READ,),
    "operator": (OPS,),
}


VARYING = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|p\d{16}(?:-[0-9a-f]{12})?"
    r'|#[a-z2-7]{12}(?=")|"[\w-]{15}="|"[\w-]{40,}"|"[0-9a-f]{12}"|"[a-z2-7]{26}"'
)
"""What differs in each recording: times, ids, positions, ends of keys, cursors, tags, uploads."""
LINK = re.compile(r'"(link|url)": "[^"]*"')
"""What is not recorded: a signed link has credentials in it."""


def is_alike(old: Any, new: Any, exact: bool = False) -> bool:
    """Whether ``new`` has the form of ``old``. Texts are compared too if ``exact``, and those of errors always.

    Each item of a new list must be like one of the old list, because what is stored by then differs.
    """
    if old is None or new is None:
        return not exact or old == new
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(
            is_alike(old[name], new[name], exact or name == "error") for name in old
        )
    if isinstance(old, list) and isinstance(new, list) and not exact:
        return all(any(is_alike(one, each) for one in old) for each in new)
    if exact:
        return VARYING.sub("…", json.dumps(old)) == VARYING.sub("…", json.dumps(new))
    return type(old) is type(new)


def kept(before: Sequence[Example], found: Sequence[Example]) -> list[Example]:
    """The examples that were ``found``, or those of ``before`` whose request and form of the answer are the same."""
    return [next((old for old in before if _is_same(old, new)), new) for new in found]


def _is_same(old: Example, new: Example) -> bool:
    is_named = (old.key, old.name, old.status) == (new.key, new.name, new.status)
    is_request = is_named and is_alike(dict(old.request), dict(new.request), exact=True)
    return is_request and is_alike(old.answer, new.answer)


def time_of(minutes: str = "") -> str:
    """The time now with its microseconds, or some minutes from now in whole seconds."""
    if not minutes:
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return (datetime.now(UTC) + timedelta(minutes=float(minutes))).strftime("%Y-%m-%dT%H:%M:%SZ")


def value_at(answer: Any, path: str) -> Any:
    """The value at a path such as ``items.0.key``; ``None`` if there is none."""
    for part in path.split(".") if path else ():
        if isinstance(answer, list):
            answer = answer[int(part)] if int(part) < len(answer) else None
        else:
            answer = answer.get(part) if isinstance(answer, dict) else None
    return answer


def is_reached(answer: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether the answer has the wanted values."""
    found = {path: value_at(answer, path) for path in wanted}
    return all(bool(found[path]) if value == "any" else found[path] == value for path, value in wanted.items())


class Recorder:
    """Sends requests to a stage, and records each with its answer."""

    def __init__(self, stage: Target) -> None:
        self._stage = stage
        self._pool = urllib3.PoolManager(timeout=30.0, retries=False)
        self._tokens: dict[str, Callable[[], str]] = {}
        self._sockets: dict[str, WebSocket] = {}
        self._answers: dict[str, Any] = {}
        self.examples: list[Example] = []

    def send(self, given: Mapping[str, Any]) -> None:
        """Send an entry of ``requests.yaml``, and record its answer."""
        name, user = given.get("name", "ok"), given.get("user", "")
        if "pushed" in given:
            while (answer := self._socket(user).receive()).get("type") != given["pushed"]:
                pass
            self.examples.append(Example(given["pushed"], name, {}, 200, answer))
        elif "frame" in given:
            frame = self._filled(given["frame"])
            answer = self._socket(user).request(frame)
            shown = {**frame, "token": "…"} if "token" in frame else frame
            self.examples.append(Example(frame["action"], name, {"body": shown}, 200, answer))
        elif "upload" in given:
            answer = self._filled(given["upload"])
            self._pool.request("PUT", answer["url"], headers=answer["headers"], body=given["text"])
        else:
            request = {part: self._filled(given.get(part, {})) for part in ("path", "query")}
            request["body"] = self._filled(given.get("body"))
            status, answer = self._ask(user, given["key"], request, given.get("until", {}))
            shown = json.loads(LINK.sub(r'"\1": "https://example.com"', json.dumps(answer)))
            self.examples.append(Example(given["key"], name, request, status, shown))
        self._answers[given.get("as", "")] = answer

    def close(self) -> None:
        """Close the connections."""
        for socket in self._sockets.values():
            socket.close()

    def _ask(self, user: str, key: str, request: Mapping[str, Any], until: Mapping[str, Any]) -> tuple[int, Any]:
        """Repeat a request while it is refused with 503, or its answer has not the values ``until``."""
        method, target = key.split()
        for parameter, value in request["path"].items():
            target = target.replace(f"{{{parameter}}}", quote(value, safe=""))
        query = f"?{urlencode(request['query'])}" if request["query"] else ""
        headers = {"Authorization": f"Bearer {self._token(user)}"} if user else {}
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._pool.request(
                method, self._stage.http_url + target + query, headers=headers, json=request["body"]
            )
            content = answer.json()
            if answer.status != 503 and is_reached(content, until):
                return answer.status, content
            if time.monotonic() > deadline:
                raise TimeoutError(f"{key} answers {content}")
            time.sleep(0.2)

    def _token(self, user: str) -> str:
        if user not in self._tokens:
            self._tokens[user] = self._stage.token_for(user, *USERS[user])
        return self._tokens[user]()

    def _socket(self, user: str) -> WebSocket:
        if user not in self._sockets:
            self._sockets[user] = self._stage.websocket(user, *USERS[user], timeout=PATIENCE)
            self._sockets[user].open()
        return self._sockets[user]

    def _filled(self, value: Any) -> Any:
        """A value of ``requests.yaml`` with its times, tokens and values of answers."""
        if isinstance(value, dict):
            return {name: self._filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        if found := re.fullmatch(r"\$(?:now|([+-]\d+)m)", value):
            return time_of(found[1] or "")
        name, _, path = value[1:].partition(".")
        return self._token(path) if name == "token" else value_at(self._answers[name], path)


def record(stage: Target) -> list[Example]:
    """The examples of all routes and actions, recorded now."""
    recorder = Recorder(stage)
    for each in yaml.safe_load(REQUESTS.read_text(encoding="utf-8")):
        recorder.send(each)
    recorder.close()
    return recorder.examples


def main() -> int:
    """Record the examples from the stage that runs."""
    stage = Target.running()
    if stage is None:
        print("no stage is running; start one with: make up", file=sys.stderr)
        return 1
    found = [asdict(each) for each in kept(examples(), record(stage))]
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(found)} examples of {len({each['key'] for each in found})} routes and actions")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
