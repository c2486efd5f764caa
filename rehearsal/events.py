"""The events of ``events/``, and the answers expected to them, which are in ``events/expected`` under the same names.

An expected answer is the JSON value that the function returns. A text that begins with ``~`` is a regular expression
for a value that varies: ``"~\\d+"`` fits 17, and ``"~.*"`` fits everything. The body of an HTTP answer or of a frame is
written as JSON, and an error as ``errorType`` and ``errorMessage`` only.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

EVENTS = Path(__file__).parents[1] / "events"
_PATTERN = "~"
_NOW = datetime.now(UTC)
# The events are of this hour, and ask for windows from the hour before it. Both are sent as the last whole hours, since
# events expire and clients may not send old ones.
_HOURS = {
    "2025-11-21T10": f"{_NOW - timedelta(hours=1):%Y-%m-%dT%H}",
    "2025-11-21T09": f"{_NOW - timedelta(hours=2):%Y-%m-%dT%H}",
}
_FIRST = (
    "manage_rooms.create",
    "manage_rooms.join",
    "manage_rooms.invite",
    "manage_rooms.block",
    "track_connections.open",
    "read_frame.subscribe_cellar",
    "read_ski.season",
    "persist_events.rabbitmq_changes",
)
_LAST = ("read_frame.expiring", "push_live", "manage_rooms.leave", "track_connections.close")
_AT_THE_END = (
    "erase_users.alice",
    "erase_users.erin",
    "erase_users.rides",
    "erase_users.room",
    "manage_rooms.delete",
    "archive_events.late",
    "erase_users.archive",
)
_SOON_SECONDS = 120
_WITHOUT = ".without_"
_ALONE = (
    "manage_invitations.unblock",
    "read_ads.top",
    "read_chat.room",
    "read_streams.streams",
    "receive_frame.first",
    "receive_http.batch",
)
"""Cases that need no others, of functions whose first case does."""


@dataclass(frozen=True)
class Case:
    """An event with its expected answer. ``function`` is the logical id in the template."""

    name: str
    function: str
    event: bytes
    expected: Path

    @property
    def only_reads(self) -> bool:
        """Whether the event may be sent again without another effect."""
        return self.name.startswith(("check_", "read_"))

    @property
    def away(self) -> str:
        """What must be away when the event is sent: ``broker``, ``cache`` or nothing."""
        return self.name.partition(_WITHOUT)[2]

    def sent(self, scope_prefix: str = "", token: str = "") -> bytes:
        """The event with recent times, and with the scopes of a stage and a token that it accepts."""
        soon = str(int(time.time()) + _SOON_SECONDS)
        event = _replaced(json.loads(self.event), {**_HOURS, "{token}": token, "{soon}": soon})
        context = event.get("requestContext", {})
        if "connectedAt" in context:
            context["connectedAt"] = int(_NOW.timestamp() * 1000)  # API Gateway ends a connection after two hours
        authorizer = context.get("authorizer", {})
        for claims in (authorizer, authorizer.get("jwt", {}).get("claims", {})):
            if "scope" in claims:
                claims["scope"] = " ".join(f"{scope_prefix}{scope}" for scope in claims["scope"].split())
        return json.dumps(event).encode()

    def differences(self, answer: Any) -> list[str]:
        """A sentence for each place where an answer is not the expected one."""
        if not self.expected.exists():
            return [f"{self.expected.relative_to(EVENTS.parent)} is missing"]
        return list(_differences(json.loads(self.expected.read_text()), readable(answer), "answer"))

    def record(self, answer: Any) -> None:
        """Write an answer as the expected one; patterns that fit stay."""
        known = json.loads(self.expected.read_text()) if self.expected.exists() else None
        text = json.dumps(_with_patterns(known, readable(answer)), indent=2, ensure_ascii=False)
        self.expected.write_text(f"{text}\n")


def cases(*names: str) -> list[Case]:
    """The cases with these names, by default all.

    Rooms, connections and seasons are made before they are used, and deleted last: a push finds that the connection
    is closed. Changes are stored before dead letters are read, so that one is of a deleted message. A user is erased
    when nothing else needs the user, from the archive too. The others have the order of their names, in which events
    are stored before they are read: ``persist`` comes before ``read``.
    """
    found = []
    for path in sorted(EVENTS.glob("*.json"), key=lambda path: _order(path.stem)):
        if not names or path.stem in names:
            function = "".join(word.title() for word in path.stem.split(".")[0].split("_"))
            found.append(Case(path.stem, function, path.read_bytes(), EVENTS / "expected" / path.name))
    return found


def parked() -> list[str]:
    """Bodies for the parking queue, as the events of ``return_parked`` expect: two messages."""
    return dead_letters()[:1] * 2


def dead_letters() -> list[str]:
    """Bodies for the dead lane, as the events of ``manage_dead_letters`` expect: a message, and three broken ones.

    ``persist_events.rabbitmq_changes`` deletes the message. A letter of two people is there for
    ``erase_users.dead_letters``, which erases one of them, and leaves no letter of the other.
    """
    stored, poison = (json.loads(case.sent()) for case in cases("persist_events.rabbitmq", "persist_events.sqs_poison"))
    (message, *_), *_ = stored["rmqMessagesByQueue"].values()
    whole = base64.b64decode(message["data"]).decode()
    shared = json.loads(whole)
    shared["events"] *= 2
    shared["events"] = [
        {**event, "userId": user, "roomId": "attic", "messageId": user}
        for user, event in zip(("ghost", "gina"), shared["events"], strict=False)
    ]
    return [whole, *[poison["Records"][0]["body"]] * 3, json.dumps(shared)]


def uploads() -> list[str]:
    """Names of files in the bucket, as the events expect: Alice has uploaded an image for each of four messages."""
    folder = sha256(b"alice").hexdigest()
    return [
        f"{folder}/{room}/{letter * 26}"
        for room, letters in (("kitchen", "ab"), ("pantry", "cd"))
        for letter in letters
    ]


def one_of_each_function() -> list[Case]:
    """A case of each function that needs none of its other cases."""
    found: dict[str, Case] = {}
    alone = {case.function: case.name for case in cases(*_ALONE)}
    for case in cases():
        if case.name == alone.get(case.function, case.name):
            found.setdefault(case.function, case)
    return list(found.values())


def readable(answer: Any) -> Any:
    """An answer in the form of ``events/expected``."""
    answer = _replaced(answer, {recent: written for written, recent in _HOURS.items()})
    if not isinstance(answer, dict):
        return answer
    if "errorType" in answer and "errorMessage" in answer:
        return {name: answer[name] for name in ("errorType", "errorMessage")}
    try:
        return {**answer, "body": json.loads(answer["body"])}
    except (KeyError, TypeError, ValueError):
        return answer


def _order(name: str) -> tuple[int, str, str]:
    return _turn(name), name.partition(_WITHOUT)[2], name


def _turn(name: str) -> int:
    for number, start in [*enumerate(_FIRST, -len(_FIRST)), *enumerate(_LAST, 1)]:
        if name.startswith(start):
            return number
    if name in _AT_THE_END:
        return len(_LAST) + 2
    return len(_LAST) + 1 if _WITHOUT in name else 0


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    """A JSON value with some texts replaced, also in the data of RabbitMQ's messages, which is base64."""
    if isinstance(value, dict):
        return {
            name: _replaced_data(one, texts) if name == "data" else _replaced(one, texts) for name, one in value.items()
        }
    if isinstance(value, list):
        return [_replaced(one, texts) for one in value]
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
    return value


def _replaced_data(value: Any, texts: Mapping[str, str]) -> Any:
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (TypeError, ValueError):
        return _replaced(value, texts)
    return base64.b64encode(_replaced(text, texts).encode()).decode()


def _fits(pattern: str, value: Any) -> bool:
    text = value if isinstance(value, str) else json.dumps(value)
    return re.fullmatch(pattern[1:], text, re.DOTALL) is not None


def _differences(expected: Any, actual: Any, where: str) -> Iterator[str]:
    if isinstance(expected, str) and expected.startswith(_PATTERN):
        if not _fits(expected, actual):
            yield f"{where}: expected {expected[1:]}, got {_short(actual)}"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for name in sorted(expected.keys() | actual.keys()):
            if name not in actual:
                yield f"{where}.{name}: expected {_short(expected[name])}, it is missing"
            elif name not in expected:
                yield f"{where}.{name}: expected nothing, got {_short(actual[name])}"
            else:
                yield from _differences(expected[name], actual[name], f"{where}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(one, other, f"{where}[{number}]")
    elif json.dumps(expected, sort_keys=True) != json.dumps(actual, sort_keys=True):
        yield f"{where}: expected {_short(expected)}, got {_short(actual)}"


def _with_patterns(known: Any, actual: Any) -> Any:
    if isinstance(known, str) and known.startswith(_PATTERN) and _fits(known, actual):
        return known
    if isinstance(known, dict) and isinstance(actual, dict):
        return {name: _with_patterns(known.get(name), value) for name, value in actual.items()}
    if isinstance(known, list) and isinstance(actual, list) and len(known) == len(actual):
        return [_with_patterns(one, other) for one, other in zip(known, actual, strict=True)]
    return actual


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
