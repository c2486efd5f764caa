"""A further stream, added as docs/how-to/add-a-stream.md shows: the module ``doors/stream.py``, a line, two routes."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.api.router import Api, http_handler
from headrace.core import keys
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import NotFound, PoisonRecord, StoreUnavailable, UserError
from headrace.core.items import Item
from headrace.core.stream import ValidatedEvent
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.http_routes import batch, single
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.features.operations.dead_letter import STREAM_NAMES, Filter
from headrace.features.operations.dead_letters import DeadLetters
from headrace.queues import names
from headrace.runtime.settings import table_settings
from headrace.stage.registry import STREAMS
from headrace.storage.ports import RangeQuery
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryDeadLane, MemoryPublisher, MemoryRetryLane
from tests.fakes.storage import MemoryReader, MemoryStore
from tests.unit.streams.doors.stream import DOORS
from tests.unit.template_stack import ROOT
from tests.worlds.ski_world import event
from tests.worlds.tracked import tracked
from tests.worlds.write_path import rabbit_event, received_event

NOW = "2025-11-21T10:00:00.000000Z"
QUEUES = {"doors": 2}


class DoorHook:
    """Records each opened door, unless it is ``broken``."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.broken = False

    def after_store(self, items: Sequence[Item]) -> Sequence[StoreUnavailable | PoisonRecord | None]:
        if self.broken:
            return [StoreUnavailable("the hook is broken")] * len(items)
        self.calls += [each["doorId"] for each in items]
        return [None] * len(items)


class DoorGate:
    """Refuses the door ``wall``."""

    def admit(self, _caller: Caller, events: Sequence[ValidatedEvent], _now: int) -> Sequence[UserError | None]:
        return [NotFound("doorId is a wall") if each.event["doorId"] == "wall" else None for each in events]


HOOK = DoorHook()
ROUTES = {"POST /doors/{doorId}/openings": single(DOORS, "doorId"), "POST /openings/batch": batch(DOORS)}


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The one line in headrace/stage/registry.py."""
    monkeypatch.setitem(STREAMS, DOORS.name, DOORS)
    before = list(STREAM_NAMES)
    STREAM_NAMES.append(DOORS.name)
    HOOK.calls.clear()
    HOOK.broken = False
    yield
    STREAM_NAMES[:] = before


class DoorsWorld:
    """The write path of doors, built as bootstrap builds it."""

    def __init__(self) -> None:
        environ = {"DOORS_TABLE": "DoorsTable", "DOORS_RETENTION_DAYS": "7"}
        tables = {DOORS.name: table_settings(DOORS, environ)}
        self.clock = FixedClock(NOW)
        self.broker = MemoryPublisher(names.persist_queues(QUEUES))
        self.retry = MemoryRetryLane(self.clock)
        self.store = MemoryStore()
        acceptor = Acceptor(self.broker, self.retry, QUEUES, self.clock, {DOORS.name: (DoorGate(),)}.__getitem__)
        self.http = http_handler(Api(ROUTES, lambda: acceptor, self.clock))
        writer = RowWriter(self.store, tables, after=((DOORS.name, HOOK.after_store),))
        self.persister = Persister(writer, self.retry, self.clock)
        self.letters = DeadLetters(MemoryDeadLane(self.retry.dead), self.retry, tables, self.clock, {})

    def post(self, route: str, body: Any, **path: str) -> tuple[int, list[dict[str, Any]]]:
        answer = self.http({**event(body, path, EVENTS_WRITE), "routeKey": route})
        return answer["statusCode"], json.loads(answer["body"])["results"]

    def persist(self, *bodies: bytes) -> None:
        self.persister.main_lane(rabbit_event(bodies or self.broker.bodies()), lambda: 60.0)

    def persist_retry(self) -> None:
        self.clock.advance(3600)
        messages = self.retry.receive()
        answer = self.persister.retry_lane(received_event(messages))
        kept = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
        self.retry.delete([each.receipt for each in messages if each.id not in kept])

    def openings(self, door: str) -> list[str]:
        """The stored openings, newest first."""
        reader = MemoryReader(self.store.rows, (DOORS.partition_key, DOORS.sort_key))
        rows = reader.read(RangeQuery("DoorsTable", DOORS.partition_key, door, DOORS.sort_key, consistent=True)).items
        return [keys.parse_timestamp_sk(row["timestampSk"]).message_id for row in rows]


def test_single_events_and_batches_reach_the_table_and_its_reader() -> None:
    world = DoorsWorld()
    status, results = world.post(
        "POST /doors/{doorId}/openings", {"openingId": "o-1", "timestamp": NOW}, doorId="front"
    )
    assert (status, results[0]["lane"]) == (202, "main")
    world.clock.advance(1)
    world.post(
        "POST /openings/batch",
        {"events": [{"doorId": "front", "openingId": "o-2", "timestamp": NOW}, {"doorId": "back"}]},
    )

    world.persist()
    world.persist()

    assert world.openings("front") == ["o-2", "o-1"]
    assert len(world.store.rows("DoorsTable")) == 3
    assert HOOK.calls.count("front") == 4, "the hook is called at every delivery"


def test_invalid_and_refused_events_are_named_and_the_others_accepted() -> None:
    world = DoorsWorld()

    events = [
        {"doorId": "a#b", "openingId": "o-1", "timestamp": NOW},
        {"doorId": "wall", "openingId": "o-2", "timestamp": NOW},
        {"doorId": "front"},
    ]
    status, results = world.post("POST /openings/batch", {"events": events})

    assert status == 202
    assert [each.get("error", {}).get("code") for each in results] == ["invalid_event", "not_found", None]
    assert [each["openingId"] for each in results[:2]] == ["o-1", "o-2"]
    assert len(world.broker.bodies()) == 1


def test_without_a_broker_events_take_the_retry_lane_and_are_stored() -> None:
    world = DoorsWorld()
    world.broker.down = True
    _, results = world.post("POST /doors/{doorId}/openings", {"openingId": "o-1", "timestamp": NOW}, doorId="front")
    assert results[0]["lane"] == "retry"

    world.persist_retry()

    assert world.openings("front") == ["o-1"]
    assert not world.retry.records


def test_an_event_whose_hook_failed_is_redelivered_by_the_retry_lane() -> None:
    world = DoorsWorld()
    HOOK.broken = True
    world.post("POST /doors/{doorId}/openings", {"openingId": "o-1", "timestamp": NOW}, doorId="front")
    world.persist()
    assert world.openings("front") == ["o-1"]
    assert HOOK.calls == []

    HOOK.broken = False
    world.persist_retry()

    assert HOOK.calls == ["front"]
    assert not world.retry.records


def test_a_record_that_cannot_be_stored_is_dead_with_stream_and_reason() -> None:
    world = DoorsWorld()
    world.post("POST /doors/{doorId}/openings", {"openingId": "o-1", "timestamp": NOW}, doorId="front")
    (body,) = world.broker.bodies()
    world.persist(body.replace(b"front", b"fr#nt"))
    while not world.retry.dead.messages:
        world.persist_retry()

    look = world.letters.find(Filter(stream="doors"))

    assert [(letter.stream, letter.reason) for letter in look.letters] == [("doors", "invalid_key")]


LAYER = ROOT / "layers" / "headrace" / "headrace"
UNTOUCHED = [
    *(LAYER / package for package in ("core", "runtime", "storage", "queues", "api", "delivery")),
    *(LAYER / "operations").glob("dead_letter*.py"),
    ROOT / "functions" / "persist_events",
    ROOT / "localstage",
]


def test_the_page_shows_the_stream_that_these_tests_run() -> None:
    module = Path(__file__).with_name("doors") / "stream.py"
    page = (ROOT / "docs" / "how-to" / "add-a-stream.md").read_text()

    assert f"```python\n{module.read_text()}```\n" in page


def test_the_event_that_the_page_makes_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "how-to" / "add-a-stream.md").read_text()
    _module, program = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    shutil.copytree(ROOT / "events", tmp_path / "events")
    monkeypatch.chdir(tmp_path)

    exec(program, {})

    world = DoorsWorld()
    made = tmp_path / "events" / "persist_events.rabbitmq_doors.json"
    world.persister.main_lane(json.loads(made.read_text()), lambda: 60.0)
    assert (made.parent / "expected" / made.name).read_text() == "null\n"
    assert world.openings("front") == ["o-1"]


@pytest.mark.parametrize("place", UNTOUCHED, ids=lambda place: place.name)
def test_the_shared_packages_name_no_stream(place: Any) -> None:
    """The registry is the only place that lists the streams."""
    for path in [place] if place.is_file() else tracked(place, "*.py"):
        named = set(STREAMS) - {DOORS.name}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                module = f"{node.module}."
                assert not any(module.startswith(f"headrace.streams.{name}.") for name in named)
                assert not {each.name for each in node.names} & {name.upper() for name in named}, path
