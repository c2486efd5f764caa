"""Repeats one duty of a function, for :mod:`bench.profile`: ``python -m bench.profile.profiled frame SECONDS``.

The function's variables are in the environment, its services run. A duty is the whole handler, from the event to the
answer:

- ``frame``: 25 messages in a frame, published and confirmed.
- ``batch``: 4 envelopes of 25 messages from the broker, stored in DynamoDB.
- ``page``: 20 messages in the middle of a room of 200, read from DynamoDB.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from pika.spec import BasicProperties

from bench import ROOT
from localstage.triggers.rabbitmq_event import build_event, build_record, event_start

ROOM = "kitchen"
IN_FRAME, ENVELOPES = 25, 4
Duty = Callable[[], object]


class Context:
    """The context of an invocation with enough time left."""

    aws_request_id = "bench"

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 60_000


def handler(function: str) -> Callable[[dict[str, Any], object], Any]:
    """The handler of a function's folder."""
    spec = importlib.util.spec_from_file_location(function, ROOT / "functions" / function / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handle: Callable[[dict[str, Any], object], Any] = module.handler
    return handle


def messages(numbers: Iterator[int]) -> list[dict[str, Any]]:
    """Messages of one frame, each with a new id."""
    text = "message number 4711, about as long as people write in a chat"
    return [{"roomId": ROOM, "messageId": f"{os.getpid()}-{next(numbers)}", "message": text} for _ in range(IN_FRAME)]


def frame(numbers: Iterator[int]) -> Duty:
    """receive_frame with a batch."""
    handle = handler("receive_frame")
    event = json.loads((ROOT / "events" / "receive_frame.sendBatch.json").read_text())
    event["requestContext"]["authorizer"]["scope"] = "chat:write"

    def run() -> None:
        body = json.dumps({"action": "sendBatch", "events": messages(numbers)})
        answer = profiled(handle, event | {"body": body})
        if answer["body"].count('"main"') != IN_FRAME:
            raise SystemExit(answer["body"][:500])

    return run


def batch(numbers: Iterator[int]) -> Duty:
    """persist_events with a batch of the main lane."""
    from headrace.core.envelope import Envelope
    from headrace.core.sender import SenderContext
    from headrace.core.times import SystemClock, iso
    from headrace.streams.chat.stream import CHAT

    handle, clock = handler("persist_events"), SystemClock()
    start = event_start("persist.0", "/", "arn:aws:mq:us-east-1:000000000000:broker:bench:b-1")

    def record() -> bytes:
        now = clock.now()
        sender = SenderContext("alice", "alice", False, now)
        events = [CHAT.accept(each, sender).event for each in messages(numbers)]
        body = Envelope("chat", "bench", iso(now), events).encode()
        properties = BasicProperties(content_type="application/json", delivery_mode=2, correlation_id="bench")
        return build_record(properties, body, redelivered=False)

    def prepared() -> dict[str, Any]:
        event: dict[str, Any] = json.loads(build_event(start, [record() for _ in range(ENVELOPES)]))
        return event

    return lambda: profiled(handle, prepared())


def page(numbers: Iterator[int]) -> Duty:
    """read_room with a page that is not cached. The batches before have filled its room."""
    handle = handler("read_room")
    event = json.loads((ROOT / "events" / "read_room.json").read_text())
    event["pathParameters"] = {"roomId": ROOM}

    def read(query: dict[str, str]) -> dict[str, Any]:
        answer = profiled(handle, event | {"queryStringParameters": query})
        found: dict[str, Any] = json.loads(answer["body"])
        if len(found.get("items", ())) != int(query["limit"]):
            raise SystemExit(answer["body"][:500])
        return found

    middle = {"limit": "20", "before": str(read({"limit": "40"})["next"])}
    return lambda: read(middle)


def topology(_numbers: Iterator[int]) -> Duty:
    """declare_topology: the broker's queues and users, which the others need."""
    handle = handler("declare_topology")
    event = json.loads((ROOT / "events" / "declare_topology.schedule.json").read_text())
    return lambda: profiled(handle, event)


def profiled(handle: Callable[[dict[str, Any], object], Any], event: dict[str, Any]) -> Any:
    """Call the handler. Only samples of what runs below this function count."""
    return handle(event, Context)


DUTIES: dict[str, Callable[[Iterator[int]], Duty]] = {
    "topology": topology,
    "batch": batch,
    "frame": frame,
    "page": page,
}


def repeat(run: Duty, seconds: float) -> float:
    """Repeat a duty; returns its milliseconds on average. Samples outside of this function do not count."""
    began, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - began < seconds:
        run()
        count += 1
    return (time.perf_counter() - began) / count * 1000


def main(duty: str, seconds: float) -> None:
    with contextlib.redirect_stdout(sys.stderr):  # its log lines
        run = DUTIES[duty](itertools.count())
        run()
        took = repeat(run, seconds)
    print(f"{took:.2f}")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
