"""From the streams of its tables, a whole stage tells a queue what it stores (P14), and archives it (P16)."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from headrace.features.archive.bucket import Newest, unpack
from headrace.storage.dynamodb.client import from_wire
from headrace.storage.s3 import Objects
from loadtest.client.stage_template import write_template
from localstage.core.model import ACCOUNT
from localstage.core.statefile import StateFile
from tests.e2e.clients import Client, now, unique, until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage
from tests.e2e.test_dead_letters import Queues
from tests.e2e.test_operating import ops
from tests.e2e.test_rooms import MEMBERS, ok, path, posted, shown
from tests.worlds.ski_world import ride

TARGET = f"arn:aws:sqs:us-east-1:{ACCOUNT}:told.fifo"
PARAMETERS = {"Archive": "on", "TellTarget": TARGET, "TellTypes": "chat,ride.stored,click.taken-back"}
TABLES = ("ChatMessages", "Rooms", "Memberships", "LiftRides", "Resorts", "AdClicks")
OPAQUE = {"next", "previous", "position", "time", "missing", "asOf"}
"""When it was answered, and positions, which only the cache knows."""
EVER = ("--from", "1900-01-01", "--until", "2199-12-31")
PATIENCE = 120.0
PROBE = '"#probe#'
NUMBERS = re.compile(r"(\d+) (rows read|written|were there|of erased people|expired ones)")


class Queue:
    """The operator's queue, and all that was told so far: in order of receiving, without repeats."""

    def __init__(self, stage: RunningStage) -> None:
        self._sqs = stage.aws("sqs")
        self._url = f"{self._sqs.meta.endpoint_url}/{ACCOUNT}/told.fifo"
        self._told: dict[str, dict[str, Any]] = {}

    def make(self) -> None:
        self._sqs.create_queue(QueueName="told.fifo", Attributes={"FifoQueue": "true"})

    def told(self) -> list[dict[str, Any]]:
        while found := self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10).get("Messages"):
            for each in found:
                event = json.loads(each["Body"])
                self._told.setdefault(event["id"], event)
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=each["ReceiptHandle"])
        return list(self._told.values())


class Archived:
    """The tables and the archive of a stage."""

    def __init__(self, stage: RunningStage) -> None:
        self._stage = stage
        self._queues = Queues(stage)
        self._dynamodb = stage.aws("dynamodb")
        self.variables = StateFile(stage.state_dir).variables()["EraseUsers"]
        self.s3 = stage.aws("s3")
        self.bucket = self.variables["ARCHIVE_BUCKET"]

    def rows(self) -> list[str]:
        """Every row of the tables that are archived, but for the probes that the stage sends each minute."""
        pages = (
            page
            for table in TABLES
            for page in self._dynamodb.get_paginator("scan").paginate(TableName=f"headrace-local-{table}Table")
        )
        return sorted(row for page in pages for row in map(shape, page["Items"]) if PROBE not in row)

    def objects(self) -> dict[str, bytes]:
        objects = Objects(self.s3, self.bucket)
        return {name: objects.read(name) for name in objects.names("") if name.endswith(".gz")}

    def archived(self) -> list[str]:
        """The newest line of every row."""
        newest, lines = Newest(), [line for body in self.objects().values() for line in unpack(body)]
        newest.add(lines)
        return sorted({row for line in newest.rows(lines) if PROBE not in (row := shape(line["NewImage"]))})

    def wait(self) -> list[str]:
        """The rows, once persist_events has ended with them, and the archive has them all."""
        found = until(
            lambda: (self.working(), self.rows(), self.archived()),
            lambda seen: seen[1] == seen[2] and not seen[0],
            PATIENCE,
        )
        rows: list[str] = found[1]
        return rows

    def working(self) -> int:
        """The batches in persist_events."""
        return int(self._stage.status["functions"]["PersistEvents"]["busy"])

    def replay(self, *options: str) -> dict[str, int]:
        """The numbers that the command prints."""
        done = ops(self._stage, "replay", *EVER, *options)
        assert done.returncode == 0, done.stderr
        return {name: int(number) for number, name in NUMBERS.findall(done.stdout)}

    def copied(self) -> str:
        """Another bucket with the same objects."""
        bucket = unique("copy")
        self.s3.create_bucket(Bucket=bucket)
        for name, body in self.objects().items():
            self.s3.put_object(Bucket=bucket, Key=name, Body=body)
        return bucket

    def lose(self) -> None:
        """Delete every row, what waits to be tried again, and all that is cached."""
        self._queues.sqs.purge_queue(QueueUrl=self._queues.retry)
        until(self.working, lambda batches: batches == 0)
        for table in TABLES:
            name = f"headrace-local-{table}Table"
            schema = self._dynamodb.describe_table(TableName=name)["Table"]["KeySchema"]
            for page in self._dynamodb.get_paginator("scan").paginate(TableName=name):
                for row in page["Items"]:
                    self._dynamodb.delete_item(
                        TableName=name, Key={one["AttributeName"]: row[one["AttributeName"]] for one in schema}
                    )
        with redis.Redis.from_url(f"redis://{self.variables['CACHE_ENDPOINT']}") as cache:
            cache.flushall()


def shape(row: Any) -> str:
    return json.dumps(from_wire(row), default=sorted, sort_keys=True)


@pytest.fixture(scope="module")
def stage() -> Iterator[RunningStage]:
    stage = fresh_stage("streams", write_template(ROOT / ".local" / "e2e" / "streams-template", (), PARAMETERS))
    try:
        yield stage.wait_ready()
    finally:
        stage.stop(signal.SIGKILL)  # what it has is not used again


def test_a_queue_is_told_of_everything_that_it_wants_in_order_once_it_is_there(stage: RunningStage) -> None:
    """Until then nothing else waits."""
    alice, importer, room = Client(stage, unique("alice")), Client(stage, None, "events:write"), unique("room")
    item = posted(alice, room, "helo")
    assert alice.http("PATCH", path(item), {"message": "hello"})[0] == 202
    edited = shown(alice, item, "editedAt")
    click = {"adId": "ad", "userId": "u", "adType": "banner", "clickedAt": item["timestamp"], "clickId": unique("c")}
    lift_ride = ride(rideID=unique("r"))
    assert importer.http("POST", "/resorts/7/seasons", {"year": "2025"})[0] == 201
    assert importer.http("POST", "/clicks/batch", {"events": [click]})[0] == 202
    assert importer.http("POST", "/lift-rides/batch", {"events": [lift_ride]})[0] == 202
    queue = Queue(stage)
    queue.make()

    def told() -> list[dict[str, Any]]:
        """The events about these three that came to the queue."""
        mine = {room, lift_ride["rideID"], click["clickId"]}
        return [
            each for each in queue.told() if mine & {each["data"].get(id) for id in ("roomId", "rideID", "clickId")}
        ]

    def types() -> list[str]:
        return [each["type"] for each in told()]

    until(types, lambda found: set(found) == {"message.stored", "message.edited", "ride.stored"}, PATIENCE)
    assert importer.http("POST", "/clicks/take-back", {"events": [click]})[0] == 202
    assert importer.http("POST", "/lift-rides/take-back", {"events": [lift_ride]})[0] == 202
    assert alice.http("DELETE", path(item))[0] == 202
    until(types, lambda found: {"message.deleted", "click.taken-back"} <= set(found), PATIENCE)
    found = told()

    messages = [each for each in found if each["stream"] == "chat"]
    assert [each["type"] for each in messages if each["type"] != "message.edited"] == [
        "message.stored",
        "message.deleted",
    ]
    assert {each["key"] for each in messages} == {f"{room}#{item['key']}"}
    assert messages[0]["data"] == item
    assert messages[1]["data"] == edited
    assert [int(each["sequence"]) for each in messages] == sorted(int(each["sequence"]) for each in messages)
    assert {each["stage"] for each in found} == {"headrace-local"}
    (ride_told,) = [each for each in found if each["stream"] == "ski"]
    assert ride_told["data"] == lift_ride
    (clicked,) = [each for each in found if each["stream"] == "ads"]
    assert (clicked["type"], clicked["data"]) == ("click.taken-back", {"clickId": click["clickId"]})


def fill(stage: RunningStage) -> tuple[Client, Callable[[], Any]]:
    """Store something of each kind. Returns a user, and what asks for answers about all of it."""
    alice, bob = Client(stage, unique("alice")), Client(stage, unique("bob"))
    importer, analyst = Client(stage, None, "events:write"), Client(stage, None, "analytics:read", "chat:read")
    room, ad = unique("room"), unique("ad")
    begin, end = now(seconds=-60), now(seconds=60)
    ok(importer, "PUT", f"/rooms/{room}", {**MEMBERS, "createdAt": begin, "createdBy": alice.user})
    ok(importer, "PUT", f"/rooms/{room}/members/{bob.user}", {"joinedAt": begin})
    first, second = (posted(alice, room, text) for text in ("helo", "a secret"))
    assert alice.http("PATCH", path(first), {"message": "hello"})[0] == 202
    assert alice.http("DELETE", path(second))[0] == 202
    assert bob.http("PUT", path(first, "/reaction"), {"value": "👍"})[0] == 202
    posted(bob, room, "a reply", replyTo=first["key"])
    resort = 7
    assert importer.http("POST", f"/resorts/{resort}/seasons", {"year": "2025"})[0] == 201
    rides = [ride(rideID=unique("r"), resortID=resort), ride(rideID=unique("r"), resortID=resort)]
    clicks = [
        {"adId": ad, "userId": alice.user, "adType": "banner", "clickedAt": now(), "clickId": unique("c")}
        for _ in range(3)
    ]
    for what, events in (("lift-rides", rides), ("clicks", clicks)):
        assert importer.http("POST", f"/{what}/batch", {"events": events})[0] == 202
        assert importer.http("POST", f"/{what}/take-back", {"events": events[:1]})[0] == 202
    shown(alice, second, "deletedAt")
    until(lambda: shown(alice, first, "editedAt"), lambda item: "reactions" in item)

    def stored(rows: list[str]) -> bool:
        """Whether all of it is stored: a ride that is taken back has two rows, and a click another one."""
        of_rides = [row for row in rows if rides[0]["rideID"] in row or rides[1]["rideID"] in row]
        of_clicks = [row for row in rows if any(each["clickId"] in row for each in clicks)]
        return len(of_rides) == len(of_clicks) == 3 and any('"takenBack"' in row for row in of_clicks)

    def answers() -> Any:
        window = {"from": begin, "to": end}
        skier, day = rides[1]["skierID"], f"/resorts/{resort}/seasons/2025/day/{rides[1]['dayID']}/skiers"
        found = [
            alice.http("GET", f"/rooms/{room}")[:2],
            alice.http("GET", f"/rooms/{room}/messages")[:2],
            alice.http("GET", f"/users/{alice.user}/rooms")[:2],
            bob.http("GET", f"/users/{bob.user}/messages")[:2],
            alice.http("GET", path(first, "/replies"))[:2],
            alice.http("GET", path(first, "/versions"))[:2],
            bob.http("GET", f"/rooms/{room}/members")[:2],
            analyst.http("GET", f"/skiers/{skier}/vertical", None, resort=str(resort))[:2],
            analyst.http("GET", day)[:2],
            analyst.http("GET", f"/ads/{ad}/clicks")[:2],
            analyst.http("GET", "/analytics/window", None, **window)[:2],
        ]
        return [(status, {name: answer[name] for name in answer.keys() - OPAQUE}) for status, answer in found]

    until(Archived(stage).rows, stored, PATIENCE)
    return alice, answers


def test_a_replay_changes_nothing_and_into_emptied_tables_it_gives_the_same_answers(stage: RunningStage) -> None:
    _, answers = fill(stage)
    archived = Archived(stage)
    rows = archived.wait()
    before = answers()
    assert [status for status, _ in before] == [200] * len(before)

    counts = archived.replay()
    assert (counts["written"], counts["of erased people"], counts["expired ones"]) == (0, 0, 0)
    assert counts["were there"] >= len(rows)
    assert archived.rows() == rows

    copy = archived.copied()
    archived.lose()
    assert archived.rows() == []
    assert archived.replay("--bucket", copy)["written"] >= len(rows)
    assert archived.rows() == rows
    assert answers() == before
    assert archived.replay("--bucket", copy)["written"] == 0


def test_wrong_days_and_a_bucket_that_is_not_there_are_refused(stage: RunningStage) -> None:
    assert (
        "Error: Invalid value for UNTIL: is before FROM"
        in ops(stage, "replay", "--from", "2026-11-02", "--until", "2026-11-01").stderr
    )
    assert "'yesterday' does not match the format '%Y-%m-%d'" in ops(stage, "replay", "--from", "yesterday").stderr
    refused = ops(stage, "replay", *EVER, "--bucket", "not-there")
    assert (refused.returncode, refused.stderr.strip()) == (
        1,
        "headrace: 0 rows were written, then: the bucket cannot be reached right now; run it again",
    )
