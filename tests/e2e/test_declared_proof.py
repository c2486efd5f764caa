"""What a file of ``streams`` declares is kept and counted exactly: through an outage, an erasure, and its removal."""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from faults.harness.chat_load import Load
from faults.harness.stream_load import Unmeasured
from headrace.core.envelope import Envelope
from headrace.core.sender import SenderContext
from headrace.features.declared.stream import Events
from loadtest.checker.findings import FAULTS
from loadtest.client.target import Target
from loadtest.declared.events import Made, Totals
from loadtest.declared.queries import MOST, DeclaredQueries
from loadtest.measured.measurements import Measurements
from loadtest.runs.declared_work import DeclaredWork
from loadtest.runs.place import Place
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import HttpTransport
from loadtest.shapes.shape import Phase
from localstage.console.counts import Counts
from tests.e2e.clients import Client, now, unique, until
from tests.e2e.conftest import PORTS, ROOT, RunningStage, fresh_stage
from tests.e2e.test_dead_letters import Queues, letters
from tests.e2e.test_erasure import PATIENCE, Tables, erasure_of

EXAMPLES, TEMPLATE = ROOT / "examples" / "streams", ROOT / "template.yaml"
BATCHES, BAD = 40, 100
ANALYST = ("chat:read", "analytics:read")


class Sending(Unmeasured, DeclaredWork):
    """Events of a stream in batches: one batch in ten twice, and bad events in every second one."""

    def __init__(self, target: Target, stream: str) -> None:
        super().__init__(target, Phase("events", (), stream=stream), Place(unique(stream), 0), Measurements(), None)
        transport = HttpTransport(target.http(self.user, "events:write"), self.request, self.retried)
        self._delivery, self._batches = Delivery(transport, self), 0

    def send(self, count: int) -> None:
        events = self.make(self.sender(0), 0, count)
        bad = self._maker.invalid(time.time_ns() // 1000) if self._batches % 2 else []
        self._delivery.send([*events, *(Made("", "", each, {}) for each in bad)])
        if not self._batches % 10:
            self._delivery.repeat(events)
        self._batches += 1

    @property
    def totals(self) -> Totals:
        return Totals(self._stream, self.all_accepted)

    def check(self, target: Target) -> None:
        """Compare every answer of the stage, also that of the whole stream, with what was accepted."""
        totals, whole = self.totals, self.totals.whole()
        with closing(target.http("analyst", *ANALYST)) as api:
            queries = DeclaredQueries(api, totals)
            queries.run_histories()
            found = queries.run_counts()
            window = api.get(f"/streams/{self._stream.name}/window", {**totals.window, "top": MOST})
        assert (found.stored, found.lost, found.unexpected, found.wrong) == (len(totals.events), 0, 0, [])
        assert {name: window.get(name) for name in whole} == whole

    def check_the_checks(self, target: Target) -> None:
        """An event that was not sent is noticed."""
        with closing(target.http("analyst", *ANALYST)) as api:
            queries = DeclaredQueries(api, Totals(self._stream, self.all_accepted[1:]), patience=0)
            assert queries.run_histories().unexpected == 1
            assert any("counts of a key" in wrong for wrong in queries.run_counts().wrong)


def target_of(stage: RunningStage) -> Target:
    return Target(*(stage.where[name] for name in ("http_url", "websocket_url", "token_url")))


def again(stage: RunningStage) -> RunningStage:
    """The stage, started again on the same data."""
    stage.stop(signal.SIGTERM)
    return RunningStage(stage.state_dir, TEMPLATE, *PORTS).wait_ready()


def send_through_an_outage(stage: RunningStage, count: int) -> list[Sending]:
    """Send events of each stream beside chat while the broker is killed for 10 s, and check what is stored."""
    target, operator = target_of(stage), Client(stage, None, "ops")
    sending, chat = [Sending(target, "doors"), Sending(target, "sensor-readings")], Load(target, "beside", rate=60)

    def send(batches: int) -> None:
        for _ in range(batches):
            for each in sending:
                each.send(count // BATCHES)

    chat.start()
    send(13)
    assert stage.command("kill", "RabbitMQ", "--seconds", "10").returncode == 0
    send(14)
    until(lambda: operator.http("GET", "/status")[1]["accepting"], lambda lane: lane == "main", PATIENCE)
    send(13)
    chat.stop()
    row = chat.row()
    assert (row.good, row.accepted > 0) == (True, True), row.problems
    for each in sending:
        found = each.read_back()
        assert [name for name, count in found.counts().items() if name in FAULTS and count] == [], found.examples
        assert (len(each.all_accepted), each.refusals, each.unanswered) == (count, BAD, 0)
        assert each.lanes["retry"] > 0
        each.check(target)
    sending[0].check_the_checks(target)
    return sending


def unbalanced(counts: Counts) -> list[str]:
    """The streams of which more events were accepted than are stored or dead: docs/how-to/operate.md."""
    sums: Counter[tuple[str, str]] = Counter()
    for name, stream, _lane, value in counts.take()["sums"]:
        sums[stream, name] += value
    streams = {stream for stream, name in sums if name == "Accepted"}
    assert {"chat", "doors", "sensor-readings"} <= streams
    left = {each: sums[each, "Stored"] + sums[each, "Dead"] - sums[each, "Redriven"] for each in streams}
    return [each for each in streams if sums[each, "Accepted"] > left[each]]


def erase(stage: RunningStage, doors: Sending) -> str:
    """Erase the user of the first event, and wait until nothing is found of them; returns the user."""
    first, operator = doors.all_accepted[0], Client(stage, None, "ops")
    person, door = first.item["badge"], first.item["door"]
    with closing(target_of(stage).http("analyst", *ANALYST)) as api:
        page = f"/streams/doors/users/{person}/events"
        assert api.get(page)["items"]
        assert operator.http("POST", f"/users/{person}/erasure", {})[0] == 202
        until(lambda: api.get(page)["items"], lambda items: not items, PATIENCE)
        items = [item for each in api.walk("/streams/doors/events", limit=200, door=door) for item in each]
    (pseudonym,) = {each["badge"] for each in items if each["eventId"] == first.event_id}
    doors.all_accepted = [
        each._replace(item={**each.item, "badge": pseudonym}) if each.item["badge"] == person else each
        for each in doors.all_accepted
    ]
    return str(person)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_a_declared_stream_keeps_its_promises_and_comes_back_with_its_file(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [shutil.copy(EXAMPLES / name, tmp_path) for name in ("doors.py", "sensor_readings.py")]
    monkeypatch.setenv("LOCALSTAGE_STREAMS", str(tmp_path))
    stage = fresh_stage("declared", TEMPLATE)
    try:
        counts = Counts(stage.wait_ready().state_dir / "logs")
        doors, readings = send_through_an_outage(stage, count)
        assert unbalanced(counts) == []
        person = erase(stage, doors)

        Path(files[0]).unlink()
        stage = again(stage)
        analyst, operator = Client(stage, None, *ANALYST), Client(stage, None, "ops")
        until(stage.output.read_text, lambda text: f"{count:,} rows of 'doors', which no file" in text, PATIENCE)
        assert [each["name"] for each in analyst.http("GET", "/streams")[1]["items"]] == ["sensor-readings"]
        assert analyst.http("GET", "/streams/doors/events")[0] == 404
        late = next(
            each for each in iter(lambda: doors.make(doors.sender(0), 0, 1)[0], None) if each.item["badge"] != person
        )
        Queues(stage).publish("persist.declared.0", record(doors, late))
        until(lambda: letters(operator)["reasons"], lambda found: found == {"unknown_stream": 1}, PATIENCE)

        shutil.copy(EXAMPLES / "doors.py", tmp_path)
        stage = again(stage)
        operator = Client(stage, None, "ops")
        assert operator.http("POST", "/dead-letters/redrive", {"reason": "storable"})[1]["moved"] == 1
        doors.all_accepted.append(late)
        target = target_of(stage)
        with closing(target.http("analyst", *ANALYST)) as api:
            until(lambda: doors._is_readable(api, late), bool, PATIENCE)
        for each in (doors, readings):
            each.check(target)
        until(lambda: erasure_of(operator, person)["state"], lambda state: state == "done", PATIENCE)
        assert Tables(stage).holding(person) == []
    finally:
        stage.stop(signal.SIGKILL)  # what it has is not used again


def record(sending: Sending, made: Made) -> bytes:
    """The record of an event, as receive_http publishes it."""
    sender = SenderContext(sending.user, sending.user, True, time.time_ns() // 1000)
    stamped = Events(sending._stream).accept(made.sent, sender).event
    return Envelope("doors", "r-1", now(), [stamped]).encode()
