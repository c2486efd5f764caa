"""A further stream, added as docs/how-to/add-a-stream.md shows."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from headrace.api.router import Api, http_handler
from headrace.core import keys
from headrace.core.caller import EVENTS_WRITE
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.http_routes import batch, single
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.queues import names
from headrace.runtime.settings import table_settings
from headrace.stage.registry import STREAMS
from headrace.storage.ports import RangeQuery
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryPublisher, MemoryRetryLane
from tests.fakes.storage import MemoryReader, MemoryStore
from tests.unit.streams.doors.stream import DOORS
from tests.unit.template_stack import ROOT
from tests.worlds.ski_world import event
from tests.worlds.tracked import tracked
from tests.worlds.write_path import rabbit_event

NOW = "2025-11-21T10:00:00.000000Z"
QUEUES = {"doors": 2}


ROUTES = {"POST /doors/{doorId}/openings": single(DOORS, "doorId"), "POST /openings/batch": batch(DOORS)}


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the stage makes of the feature."""
    monkeypatch.setitem(STREAMS, DOORS.name, DOORS)


class DoorsWorld:
    """The write path of doors, built as bootstrap builds it."""

    def __init__(self) -> None:
        environ = {"DOORS_TABLE": "DoorsTable", "DOORS_RETENTION_DAYS": "7"}
        tables = {DOORS.name: table_settings(DOORS, environ)}
        self.clock = FixedClock(NOW)
        self.broker = MemoryPublisher(names.persist_queues(QUEUES))
        self.retry = MemoryRetryLane(self.clock)
        self.store = MemoryStore()
        acceptor = Acceptor(self.broker, self.retry, QUEUES, self.clock)
        self.http = http_handler(Api(ROUTES, lambda: acceptor, self.clock))
        self.persister = Persister(RowWriter(self.store, tables), self.retry, self.clock)

    def post(self, route: str, body: Any, **path: str) -> tuple[int, list[dict[str, Any]]]:
        answer = self.http({**event(body, path, EVENTS_WRITE), "routeKey": route})
        return answer["statusCode"], json.loads(answer["body"])["results"]

    def persist(self, *bodies: bytes) -> None:
        self.persister.main_lane(rabbit_event(bodies or self.broker.bodies()), lambda: 60.0)

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


PAGE = (ROOT / "docs" / "how-to" / "add-a-stream.md").read_text()
LAYER = ROOT / "layers" / "headrace" / "headrace"
UNTOUCHED = [
    *(LAYER / package for package in ("core", "runtime", "storage", "queues", "api", "delivery")),
    *(LAYER / "features" / "operations").glob("dead_letter*.py"),
    ROOT / "functions" / "persist_events",
    ROOT / "localstage",
]


def test_the_page_shows_the_stream_that_these_tests_run() -> None:
    module = Path(__file__).with_name("doors") / "stream.py"

    assert f"```python\n{module.read_text()}```\n" in PAGE


def test_the_event_that_the_page_makes_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)[-1]
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
