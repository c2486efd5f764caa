"""docs/reference/told-events.md shows an event as it is sent, and lists all types."""

from __future__ import annotations

import json
import re

from headrace.core.times import SECOND, parse_iso
from headrace.features.tell.teller import Teller
from headrace.features.tell.told import STORED, tells
from headrace.stage.chosen import FEATURES
from headrace.storage.dynamodb.client import to_wire
from tests.fakes.queues import MemoryRetryLane
from tests.fakes.tell import MemoryTarget
from tests.unit.template_stack import ROOT

PAGE = (ROOT / "docs" / "reference" / "told-events.md").read_text()


def test_the_example_is_what_the_function_sends() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    example = json.loads(text)
    data = example["data"]
    row = {"roomId": data["roomId"], "timestampSk": data["key"], "bucketId": "003", "expiresAt": 1, **data}
    row.pop("key")
    target = MemoryTarget()
    streams = {frozenset(("roomId", "timestampSk")): [("chat", tells()["chat"])]}
    change = {
        "ApproximateCreationDateTime": parse_iso(example["time"]) / SECOND,
        "Keys": to_wire({name: row[name] for name in ("roomId", "timestampSk")}),
        "NewImage": to_wire(row),
        "SequenceNumber": example["sequence"],
    }
    record = {"eventID": example["id"], "eventName": "INSERT", "dynamodb": change}

    Teller(target, streams, ["chat"], example["stage"], MemoryRetryLane()).tell({"Records": [record]}, lambda: 30, "")

    (told,) = target.taken
    assert json.loads(told.body) == example


def test_the_page_lists_every_type() -> None:
    listed = re.findall(r"^\| `(\w+\.[\w-]+)` \|", PAGE, re.M)

    assert listed == [STORED, *(each for feature in FEATURES for each in feature.tells)]
