"""Tells others what was stored: reads changes of the tables from their streams, and sends events to a target.

Each event goes out at least once, and those of one key in the order of storing: a call has at most one event of a key,
and the next call is made after all of it was taken. What cannot be sent stays in the stream for a day and is tried
again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from headrace.core import times
from headrace.core.json import encode_ascii
from headrace.core.keys import SEPARATOR
from headrace.core.stream import Tell
from headrace.features.tell.targets import AT_ONCE, BYTES, TIMEOUT, Announcement, Target, target_of
from headrace.features.tell.told import tells
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import RetryLane
from headrace.runtime.aws import client
from headrace.runtime.observability import Meter, correlate_batch, report, report_unexpected
from headrace.runtime.setting_forms import Names, Settings
from headrace.runtime.settings import ObserveSettings
from headrace.stage.chosen import FEATURES, parts
from headrace.stage.registry import all_streams
from headrace.storage.dynamodb.client import from_wire

SPARE_SECONDS = 10.0
"""No call is begun with less time left: a target may need two answers of 3 s."""
_FULL = "timeout"

Answer = dict[str, list[dict[str, str]]]
"""What a mapping wants to know: the first record that is to come again."""


class TellSettings(Settings):
    """For tell_others."""

    tell_target: str = Field(
        default="",
        pattern=r"^arn:[a-z-]+:(events:[^:]+:\d{12}:event-bus/.+|sqs:[^:]+:\d{12}:[^:]+)$",
        description="the ARN of an SQS queue or of an EventBridge bus",
    )
    """Queue or bus that gets an event for each stored change; empty for none."""
    tell_types: Names = Field(min_length=1, description="a comma list of types of events, such as chat,ride.stored")
    """Which events it gets: streams and types of events."""
    untold_queue_url: str = Field(description="the URL of the UntoldQueue")
    """Queue of what could not be told."""


class ToldEvent(TypedDict):
    """What others get. ``id`` is the same when it is told again.

    ``sequence`` is a number of up to 40 digits: of two events of one ``key``, the larger one is later. ``time`` is when
    it was stored, to the second; ``stage`` is the name of the stack.
    """

    id: str
    type: str
    time: str
    stage: str
    stream: str
    key: str
    sequence: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Due:
    at: int
    announcement: Announcement
    key: str
    stream: str


class Teller:
    """Tells of changes what ``wanted`` names: streams, or types of events.

    ``tells`` has the name of each stream and what is told of its rows, by the names of its table's keys. In a table of
    several streams, each tells of its own rows.

    A record that cannot be read would stop those behind it for a day. The ``untold`` queue gets where it is, but not
    what it holds, because texts that people delete meanwhile must not stay there.
    """

    def __init__(
        self,
        target: Target,
        tells: Mapping[frozenset[str], Sequence[tuple[str, Tell]]],
        wanted: Sequence[str],
        stage: str,
        untold: RetryLane,
    ) -> None:
        self._target = target
        self._tells = tells
        self._wanted = frozenset(wanted)
        self._stage = stage
        self._untold = untold

    def tell(self, event: Mapping[str, Any], remaining: Callable[[], float], invocation: str) -> Answer:
        """Tell a batch of records of a table's stream; ``remaining`` gives the seconds that are left for it."""
        correlate_batch(set(), invocation)
        records: Sequence[Mapping[str, Any]] = event["Records"]
        due: list[_Due] = []
        failed = len(records)
        for at, record in enumerate(records):
            try:
                due += self._due(at, record)
            except Exception as error:  # noqa: BLE001 - reported; the record must not stop the others
                report_unexpected(error)
                if not self._keep(record):
                    failed = at
                    break
        failed = min(failed, self._send(due, remaining, failed))
        if failed == len(records):
            return {"batchItemFailures": []}
        return {"batchItemFailures": [{"itemIdentifier": records[failed]["dynamodb"]["SequenceNumber"]}]}

    def _due(self, at: int, record: Mapping[str, Any]) -> Iterator[_Due]:
        if record["eventName"] == "REMOVE":
            return  # it has expired
        change = record["dynamodb"]
        before = from_wire(change["OldImage"]) if "OldImage" in change else None
        after = from_wire(change["NewImage"])
        for stream, tell in self._tells[frozenset(change["Keys"])]:
            told = tell(before, after)
            if told is None or self._wanted.isdisjoint((told.type, stream)):
                continue
            event = ToldEvent(
                id=record["eventID"],
                type=told.type,
                time=times.iso(int(change["ApproximateCreationDateTime"] * times.SECOND)),
                stage=self._stage,
                stream=stream,
                key=told.key,
                sequence=change["SequenceNumber"],
                data=told.data,
            )
            group = f"{stream}{SEPARATOR}{told.key.partition(SEPARATOR)[0]}"
            yield _Due(at, Announcement(event["id"], told.type, group, encode_ascii(event)), told.key, stream)

    def _send(self, due: Sequence[_Due], remaining: Callable[[], float], failed: int) -> int:
        """Send what is due before ``failed``; the first record of which something was not taken, else ``failed``."""
        meter = Meter()
        for part in _calls([each for each in due if each.at < failed]):
            outcomes: list[str | None] = [_FULL] * len(part)
            if remaining() > SPARE_SECONDS:
                outcomes = self._target([each.announcement for each in part])
            for each, outcome in zip(part, outcomes, strict=True):
                if outcome is None:
                    meter.count("Told", stream=each.stream)
                elif each.at < failed:
                    failed = each.at
                    report(f"tell {outcome}", f"others are told later: {outcome}")
            if any(outcomes):
                break
        meter.flush()
        return failed

    def _keep(self, record: Mapping[str, Any]) -> bool:
        """Whether the untold queue has where ``record`` is."""
        change = record.get("dynamodb", {})
        where = {"eventID": record.get("eventID"), "eventSourceARN": record.get("eventSourceARN")}
        where |= {name: change.get(name) for name in ("Keys", "SequenceNumber")}
        (outcome,) = self._untold.send([RetryRecord(encode_ascii(where).encode())])
        return outcome is None


def _calls(due: Sequence[_Due]) -> Iterator[list[_Due]]:
    """``due`` in order, in groups that a target takes at once, with at most one event of a key in each."""
    group: list[_Due] = []
    keys: set[str] = set()
    size = 0
    for each in due:
        length = len(each.announcement.body)
        if group and (len(group) == AT_ONCE or each.key in keys or size + length > BYTES):
            yield group
            group, keys, size = [], set(), 0
        group.append(each)
        keys.add(each.key)
        size += length
    if group:
        yield group


@functools.cache
def teller() -> Teller:
    """Tells the target of the settings."""
    settings, streams = TellSettings.read(), all_streams()
    # Of a table whose streams are declared no more, nothing is told.
    by_keys: dict[frozenset[str], list[tuple[str, Tell]]] = {
        keys: [] for tables in parts("ARCHIVED", FEATURES) for keys in tables
    }
    for name, tell in tells().items():
        by_keys.setdefault(frozenset((streams[name].partition_key, streams[name].sort_key)), []).append((name, tell))
    target = target_of(settings.tell_target, lambda service: client(service, timeout=TIMEOUT))
    untold = RetryLane(settings.untold_queue_url, client("sqs"))
    return Teller(target, by_keys, settings.tell_types, ObserveSettings.read().powertools_service_name, untold)
