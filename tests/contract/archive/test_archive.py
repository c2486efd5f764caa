"""P16: what is stored comes back from the archive, and what is deleted or erased does not, with the real emulators."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.core.people import Progress, Target
from headrace.core.stream import TIME_SHARDS
from headrace.core.times import iso
from headrace.features.archive.archiver import Archiver, archived
from headrace.features.archive.bucket import unpack
from headrace.features.archive.tidier import LOCK, Tidier
from headrace.features.edits.change import fold
from headrace.features.people.hashes import USER, Person
from headrace.features.people.jobs import DONE
from headrace.features.ski.dynamodb import Resorts
from headrace.runtime.aws import client
from headrace.storage.dynamodb.client import DynamoTable
from headrace.storage.s3 import Objects
from localstage.triggers.table_stream import build_event
from ops.erased import Erased
from ops.replay import ERASED, EXPIRED, READ, THERE, WRITTEN, Replay
from tests.contract.emulators import Emulators, sdk
from tests.contract.erasure_world import ANN, SKIER_ID, TABLES, World, count_reactions, fill
from tests.contract.tables import described, made
from tests.worlds.message_changes import CHANGES

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
LIVE = {
    "messages": "EMessages",
    "rooms": "ERooms",
    "memberships": "EMemberships",
    "rides": "ERides",
    "resorts": "EResorts",
    "clicks": "EClicks",
}
ALL = [*TABLES, described("EResorts", "resortID")]
STREAMED = [{**each, "StreamSpecification": STREAM} if each["TableName"] in LIVE.values() else each for each in ALL]
EMPTY = [{**each, "TableName": f"{each['TableName']}-empty"} for each in ALL if each["TableName"] in LIVE.values()]
EVER = ("0000-00-00", "9999-99-99")
STREAMS = ("chat", "ski", "ads")


class Archived(World):
    """The world of erasures with an archive."""

    def __init__(self, dynamodb: Any) -> None:
        super().__init__(dynamodb, (self.caught_up,))
        self.bucket = f"archive-{uuid.uuid4().hex}"
        sdk("s3").create_bucket(Bucket=self.bucket)
        self.objects = Objects(client("s3"), self.bucket)
        self.archiver = Archiver(self.objects, archived())
        self.tidier = Tidier(self.objects, sleep=lambda _: None)
        self.places: dict[str, str] = {}
        self.is_behind = False
        self.time_shards = TIME_SHARDS.write
        self.resorts = Resorts(self.dynamodb, "EResorts")

    def archive(self) -> None:
        """What the mappings do."""
        streams = sdk("dynamodbstreams")
        for table in LIVE.values():
            arn = self.sdk.describe_table(TableName=table)["Table"]["LatestStreamArn"]
            (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
            start = {"ShardIteratorType": "TRIM_HORIZON"}
            if table in self.places:
                start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self.places[table]}
            iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], **start)["ShardIterator"]
            while records := (answer := streams.get_records(ShardIterator=iterator, Limit=5))["Records"]:
                self.archiver.archive(json.loads(build_event(records, arn)), "i-1")
                self.places[table] = records[-1]["dynamodb"]["SequenceNumber"]
                iterator = answer["NextShardIterator"]

    def caught_up(self, target: Target) -> Progress:
        """The third round of an erasure, some minutes later."""
        if not self.is_behind:
            self.archive()
            yield from self.tidier.tidy(target)

    def replay(self, days: tuple[str, str] = EVER, streams: tuple[str, ...] = STREAMS, end: str = "") -> Counter[str]:
        """Replay into the tables whose names have this ``end``."""
        keys = {each["TableName"]: each["KeySchema"][0]["AttributeName"] for each in ALL}
        tables = {name: (table + end, keys[table]) for name, table in LIVE.items()}
        replay = Replay(
            self.objects, self.sdk, tables, Erased(self.erasures, self.hashes), self.clock, self.time_shards
        )
        counts: Counter[str] = Counter()
        for folder in replay.folders(streams, *days):
            counts += replay.folder(folder)
        return counts

    def stored(self, end: str = "") -> list[str]:
        """Every row of the archived tables."""
        return sorted(
            json.dumps([name, row], default=sorted, sort_keys=True)
            for name, table in LIVE.items()
            for row in self.rows(table + end)
        )

    def lines(self) -> list[str]:
        """Every line of the archive."""
        return [json.dumps(line) for name in self.objects.names("") for line in unpack(self.objects.read(name))]


@pytest.fixture
def world(dynalite: str, emulators: Emulators, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archived]:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", emulators.sqs_url)
    with made(*STREAMED, *EMPTY) as dynamodb:
        world = Archived(dynamodb)
        fill(world)
        world.resorts.add_season(7, 2025, "Sella")
        yield world
        world.dynamodb.close()


def test_a_replay_into_the_same_tables_changes_nothing_and_into_empty_ones_makes_the_same_rows(world: Archived) -> None:
    before = world.stored()
    assert len(before) > 20
    world.archive()

    for _ in ("new objects", "tidied ones"):
        assert world.replay() == Counter({READ: len(before), THERE: len(before)})
        assert world.stored() == before
        world.tidier.run(lambda: 100.0)
    assert world.replay(end="-empty") == Counter({READ: len(before), WRITTEN: len(before)})
    assert world.replay(end="-empty") == Counter({READ: len(before), THERE: len(before)})
    assert world.stored("-empty") == before


def test_a_replay_into_a_stage_with_fewer_time_shards_uses_these_alone(world: Archived) -> None:
    world.archive()
    world.time_shards = 2

    world.replay(end="-empty")

    for name, attribute in (("messages", "bucketId"), ("rides", "resortDayId"), ("clicks", "bucketId")):
        before, after = (world.rows(LIVE[name] + end) for end in ("", "-empty"))
        was, now = (sorted(row[attribute] for row in rows if attribute in row) for rows in (before, after))
        assert sorted(f"{shard[:-3]}{int(shard[-3:]) % 2:03d}" for shard in was) == now != was


def test_a_replay_is_of_some_days_and_streams_and_of_what_has_no_day(world: Archived) -> None:
    world.archive()
    count = {name: len(world.rows(table)) for name, table in LIVE.items()}

    assert world.replay(("2025-01-03", "2025-01-03"), ("ski",), "-empty") == Counter({READ: 3, WRITTEN: 3})
    assert world.replay(("2025-01-04", "2025-01-04"), ("ski",), "-empty") == Counter({READ: 1, THERE: 1})
    assert world.replay(("2030-01-01", "2030-01-02"), ("chat",), "-empty")[READ] == count["rooms"] + count[
        "memberships"
    ] + len([row for row in world.rows("EMessages") if row["timestampSk"] == "#"])
    assert world.rows("EClicks-empty") == []


@pytest.mark.parametrize("listing", [1, 3])
def test_what_is_tidied_between_two_listings_is_replayed_too(
    world: Archived, monkeypatch: pytest.MonkeyPatch, listing: int
) -> None:
    world.archive()
    names, count = world.objects.names, itertools.count(1)

    def then_tidied(prefix: str) -> Iterator[str]:
        found = list(names(prefix))
        if next(count) == listing:
            world.tidier.run(lambda: 100.0)
        return iter(found)

    monkeypatch.setattr(world.objects, "names", then_tidied)

    written = world.replay(EVER, ("ski",), "-empty")[WRITTEN]

    assert written == len(world.rows("ERides")) + len(world.rows("EResorts"))


def test_a_text_that_is_deleted_or_replaced_leaves_the_archive_when_it_is_tidied(world: Archived) -> None:
    world.archive()
    world.tidier.run(lambda: 100.0)
    assert [line for line in world.lines() if "edited by bob" in line]
    (mine,) = (row for row in world.rows("EMessages") if row.get("message") == "edited by bob" and "messageId" in row)
    at = {"roomId": "kitchen~4", "key": mine["timestampSk"]}
    deleted = world.store(CHANGES, "bob", {**at, "change": "delete"})
    (edit,) = (row for row in world.rows("EMessages") if row.get("change") == "edit" and row["changedBy"] == "bob")
    world.changes.apply("kitchen~4", at["key"], fold("bob", [deleted, edit]), iso(world.clock.now()))
    world.changes.forget_rows([edit])

    world.archive()
    world.tidier.run(lambda: 100.0)

    assert [line for line in world.lines() if "edited by bob" in line or "secret of bob" in line] == []
    assert world.replay(end="-empty")[WRITTEN] == len(world.stored())
    assert world.stored("-empty") == world.stored()


def test_an_erased_person_is_in_no_object_and_does_not_come_back(world: Archived) -> None:
    found = fill_counts(world)
    world.archive()
    world.tidier.run(lambda: 100.0)
    assert [line for line in world.lines() if ANN in line]
    assert [line for line in world.lines() if str(SKIER_ID) in line]

    world.erase(parts=3)

    erasure = world.erasures.get(world.hashes.key(Person(USER, ANN)))
    assert erasure is not None
    assert erasure.state == DONE
    assert [line for line in world.lines() if ANN in line or str(SKIER_ID) in line] == []
    assert all(name != LOCK and not name.startswith("new/") for name in world.objects.names(""))
    assert world.replay(end="-empty") == Counter({READ: len(world.stored()), WRITTEN: len(world.stored())})
    assert world.stored("-empty") == world.stored()
    assert [row for row in world.stored("-empty") if ANN in row] == []
    assert found in world.stored("-empty")


def fill_counts(world: Archived) -> str:
    """Count the reactions to bob's message; a row that an erasure does not touch."""
    (his,) = (row for row in world.rows("EMessages") if row.get("firstText") == "secret of bob")
    count_reactions(world, "kitchen~4", his["timestampSk"])
    (click,) = (row for row in world.rows("EClicks") if row["userId"] == "bob")
    return json.dumps(["clicks", click], default=sorted, sort_keys=True)


def test_what_the_archive_has_of_a_person_who_was_erased_meanwhile_is_left_out(world: Archived) -> None:
    """The tables were lost before the archive had the erasure."""
    world.archive()
    before = len(world.stored())
    world.is_behind = True
    world.erase()

    counts = world.replay(end="-empty")

    assert counts[ERASED] > 10
    assert counts[READ] == before == counts[ERASED] + counts[WRITTEN]
    assert [row for row in world.stored("-empty") if ANN in row or str(SKIER_ID) in row] == []


def test_what_has_expired_is_left_out(world: Archived) -> None:
    DynamoTable(world.dynamodb, "EClicks", "clicks").put({"clickId": "expired-click", "sender": "s", "expiresAt": 1})
    world.archive()

    counts = world.replay(end="-empty")

    assert counts[EXPIRED] == 1
    assert counts[WRITTEN] == len(world.stored()) - 1
    assert [row for row in world.stored("-empty") if "expired-click" in row] == []


def test_of_two_who_want_the_lock_one_has_it_until_it_is_old(world: Archived) -> None:
    assert world.objects.lock(LOCK, 60)
    assert not world.objects.lock(LOCK, 60)
    assert world.objects.lock(LOCK, -1)
    world.objects.delete(LOCK)
    assert world.objects.lock(LOCK, 60)
