"""Probes go through every persist queue, and missing ones are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.core import keys, times
from headrace.core.envelope import Envelope
from headrace.core.errors import ConnectionLost, InvalidEvent, PoisonRecord, StoreUnavailable
from headrace.core.stream import built_later
from headrace.features.edits.change import KIND as CHANGE
from headrace.features.operations import probes
from headrace.features.operations.probe import PROBE, probe
from headrace.features.operations.probes import WATCH_SECONDS, Prober, ProbeReader, ProbeRun
from headrace.queues.names import persist_queues
from headrace.stage import chosen
from headrace.storage.reading import RangeQuery, Rows
from headrace.streams.chat.stream import MESSAGE
from tests.fakes.queues import MemoryPublisher
from tests.fakes.storage import MemoryReader
from tests.unit.delivery.test_hooks import Follower, check, lanes_with
from tests.worlds.senders import CLOCK, NOW, TABLE, sender
from tests.worlds.write_path import WritePath

MINUTE = times.micros_of("2025-11-21T10:00:00.000000Z")
QUEUES = persist_queues({"chat": 4})


class Probing:
    """The write path in memory. Published probes are stored while the prober sleeps, unless the queue is ``stuck``."""

    def __init__(self) -> None:
        self.write_path = WritePath()
        self.stuck: set[str] = set()
        self.now = 0.0
        self.unavailable = False
        self.reader = ProbeReader(self, TABLE.table)
        self.start()

    def start(self) -> None:
        """A new environment."""
        broker: MemoryPublisher = self.write_path.broker
        self.prober = Prober([broker], self.reader, QUEUES, CLOCK, self.sleep, lambda: self.now)

    def read(self, query: RangeQuery) -> Rows:
        assert query.consistent
        if self.unavailable:
            raise StoreUnavailable("down")
        return MemoryReader(self.write_path.store.rows).read(query)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for name, messages in self.write_path.broker.queues.items():
            if name not in self.stuck:
                self.write_path.persist(*(message.body for message in messages))

    def run(self, minutes: int = 0) -> ProbeRun:
        return self.prober.run(MINUTE + minutes * times.MINUTE + 3 * times.SECOND, "c-1")


def test_one_probe_goes_through_every_persist_queue_and_is_read_back() -> None:
    """P4: the running stage shows that what it accepts is stored."""
    probing = Probing()

    run = probing.run()

    held = {name: len(messages) for name, messages in probing.write_path.broker.queues.items() if messages}
    assert held == dict.fromkeys(QUEUES, 1)
    assert run.sent == QUEUES
    assert run.seconds.keys() == set(QUEUES)
    assert all(0 < seconds < 1 for seconds in run.seconds.values())
    assert probing.run(1).missing == []


def test_a_probe_that_is_not_readable_a_minute_later_is_missing() -> None:
    """P4: and alarms if it is not readable in time."""
    probing = Probing()
    probing.run()
    probing.stuck = {"persist.chat.2"}

    late = probing.run(1)

    assert (late.missing, sorted(late.seconds)) == ([], ["persist.chat.0", "persist.chat.1", "persist.chat.3"])
    assert probing.run(2).missing == ["persist.chat.2"]


def test_nothing_is_missing_in_the_first_minute_of_a_stage_or_after_a_pause(caplog: pytest.LogCaptureFixture) -> None:
    probing = Probing()

    assert probing.run().missing == []
    assert probing.run(60).missing == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_new_environment_finds_missing_probes() -> None:
    """P4: at once if the previous run had a stored probe, otherwise a minute later."""
    probing = Probing()
    probing.stuck = {"persist.chat.2"}
    probing.run()
    probing.start()
    assert probing.run(1).missing == ["persist.chat.2"]

    probing.stuck = set(QUEUES)
    probing.run(2)
    probing.start()
    assert [probing.run(3).missing, probing.run(4).missing] == [[], QUEUES]


def test_a_refused_probe_is_missing_and_takes_no_other_lane() -> None:
    probing = Probing()
    probing.run()
    probing.write_path.broker.fail_next(ConnectionLost("cut"))

    run = probing.run(1)

    assert run.sent == QUEUES[1:]
    assert probing.write_path.retry.records == []
    assert probing.run(2).missing == ["persist.chat.0"]


def test_probes_are_missing_while_the_table_is_down_and_the_run_ends_in_time() -> None:
    probing = Probing()
    probing.run()
    probing.unavailable = True
    before = probing.now

    run = probing.run(1)

    assert run.missing == QUEUES
    assert run.seconds == {}
    assert probing.now - before <= WATCH_SECONDS


def test_a_run_that_is_repeated_changes_no_row() -> None:
    """P3, for the stage's own events."""
    probing = Probing()
    probing.run()
    rows = probing.write_path.rows()

    probing.run()
    probing.sleep(0)

    assert probing.write_path.rows() == rows
    assert len(rows) == len(QUEUES)


def test_every_run_reports_the_number_of_missing_probes(capsys: pytest.CaptureFixture[str]) -> None:
    probing = Probing()
    probing.run()
    capsys.readouterr()

    probing.run(1)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["ProbeMissing"] for line in lines if "ProbeMissing" in line] == [[0.0]]
    assert {line["queue"] for line in lines if "ProbeSeconds" in line} == set(QUEUES)
    units = {each["Name"]: each["Unit"] for line in lines for each in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert (units["ProbeSeconds"], units["ProbeMissing"]) == ("Seconds", "Count")


def test_the_status_has_the_newest_probe_of_each_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    probing = Probing()
    settings = {"BROKER_ENDPOINTS": "amqp://a", "BROKER_SECRET_ARN": "arn", "PERSIST_QUEUES": "chat=4"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(probes, "_probe_reader", lambda: probing.reader)
    newest = chosen.status_readers()["probes"]
    assert newest() == dict.fromkeys(QUEUES)

    probing.run()
    probing.run(1)
    probing.sleep(0)

    assert newest() == dict.fromkeys(QUEUES, times.iso(MINUTE + times.MINUTE))


def test_a_stage_without_probes_reads_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "CHOSEN", ())

    assert chosen.status_readers() == {}


def row(event: dict[str, Any]) -> dict[str, Any]:
    return PROBE.item(event, times.micros_of(NOW), TABLE)


def test_no_client_can_read_a_probe() -> None:
    """P12."""
    item = row(probe("persist.chat.0", times.iso(MINUTE)))

    with pytest.raises(ValueError, match="#"):
        keys.normalize_id(item["roomId"])
    assert not item.keys() & {"userId", "bucketId"}, "in no index"
    assert keys.parse_timestamp_sk(item["timestampSk"]).timestamp == times.iso(MINUTE)


def test_a_probe_expires_after_a_day() -> None:
    assert (
        row(probe("persist.chat.0", times.iso(MINUTE)))["expiresAt"]
        == (times.micros_of(NOW) + times.DAY) // times.SECOND
    )


def test_no_client_can_send_a_probe() -> None:
    with pytest.raises(InvalidEvent):
        PROBE.accept(probe("persist.chat.0", times.iso(MINUTE)), sender(trusted=True))


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"queue": "persist.chat.0"}, "missing_field"),
        (probe("", times.iso(MINUTE)), "empty_key"),
        (probe("persist.chat.0#x", times.iso(MINUTE)), "invalid_key"),
        (probe("persist.chat.0", "now"), "invalid_key"),
        ({"queue": 7, "minute": times.iso(MINUTE)}, "invalid_event"),
    ],
)
def test_an_invalid_probe_is_poison(event: dict[str, Any], reason: str) -> None:
    with pytest.raises(PoisonRecord) as caught:
        row(event)

    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("event", "minute"),
    [
        ({"time": "2025-11-21T10:03:07Z"}, "2025-11-21T10:03:00.000000Z"),
        ({}, "2025-11-21T10:00:00.000000Z"),
    ],
)
def test_a_run_takes_its_minute_from_the_event_or_the_clock(event: dict[str, str], minute: str) -> None:
    found = Probing().prober.run_for(event, "c-1")

    assert (found["minute"], found["sent"]) == (minute, QUEUES)


def test_each_broker_gets_the_probes_of_its_queues() -> None:
    probing, second = Probing(), MemoryPublisher(QUEUES)
    probing.prober.publishers = [probing.write_path.broker, second]

    sent = probing.run().sent

    assert sent == [*QUEUES, *(f"{queue} of broker 2" for queue in QUEUES)]
    assert all(len(second.queues[queue]) == 1 for queue in QUEUES)
    assert probing.run(1).missing == [f"{queue} of broker 2" for queue in QUEUES]  # nothing stores them here


def test_a_hook_gets_the_rows_of_its_kind_and_is_built_for_the_first() -> None:
    chats, probes, changes = Follower(), Follower(), list[Follower]()
    hooks = {MESSAGE: lambda: chats, "probe": lambda: probes, CHANGE: lambda: changes.append(Follower()) or changes[0]}
    write_path = lanes_with([(kind, built_later(build)) for kind, build in hooks.items()], [(MESSAGE, check)])
    minute = "2025-11-21T10:00:00.000000Z"

    write_path.persist(
        *write_path.broker.bodies(), Envelope("probe", "c", minute, [probe("persist.chat.0", minute)]).encode()
    )

    assert (chats.items, probes.items, changes) == (["m-2"], [None], [])
    assert {row.get("messageId"): row.get("checked") for row in write_path.rows()} == {"m-2": True, None: None}
