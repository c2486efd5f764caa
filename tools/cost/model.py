"""What events use of each service, and what that costs, beside the usual design.

The usual design: each event is one WebSocket frame with an acknowledgement, one call of a function, and one put into
the same table with the same indexes. It has no broker, so it costs nothing at rest, and an event is lost or refused
while its table is unavailable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.items import size_of
from headrace.core.sender import SenderContext
from headrace.core.stream import Stream, TableSettings
from headrace.features.ads.stream import ADS
from headrace.features.ski.stream import SKI
from headrace.stage.registry import STREAMS
from tools.cost.prices import Prices
from tools.cost.stage import Stage

HOURS = 730
SECONDS = HOURS * 3600
MINUTES = HOURS * 60
GB = 1e9
KB = 1024
FRAME_BYTES = 32 * KB
REQUEST_BYTES = 512 * KB
ACK_BYTES = 120
ITEM_OVERHEAD = 100
"""Bytes that DynamoDB stores with each row of a table or index."""

# Assumed, until they are measured on AWS: seconds of a function, bytes of logs, numbers of calls.
GIGABYTES = 1.0
RECEIVE_SECONDS, RECEIVE_EVENT_SECONDS = 0.010, 0.0006
PERSIST_SECONDS, PERSIST_EVENT_SECONDS = 0.020, 0.0002
PUSH_SECONDS = 0.0005
CHECK_CALL_SECONDS = 0.015
USUAL_SECONDS, USUAL_GIGABYTES = 0.010, 0.5
LOG_BYTES, LOG_EVENT_BYTES = 700, 41
CACHE_UNITS = 4
ROOMS = 10
"""With new events all the time."""
CHECK_SECONDS = 420.0
"""Between two check frames of a connection."""
CHECK_WRITES, CHECK_READS = 1, 2.5
OPEN_WRITES, CLOSE_WRITES, CONNECTED_SECONDS = 3, 3, 7200
"""API Gateway ends a connection after two hours."""
SCALED_USE = 0.7
"""The use of provisioned units that templates/scaling.yaml keeps."""
SCALING_ALARMS = 8
"""Of a table or index that scales: Application Auto Scaling makes four alarms for reads, and four for writes."""
CUSTOM_METRICS = 55
POLLS_PER_MINUTE = 15
SCHEDULED_CALLS = HOURS * 12 + MINUTES
"""At rest: the topology every 5 minutes, and the prober every minute."""
RECORDS = 200
"""Records of the broker, each of a request, that one call of persist_events gets."""
WINDOW_SECONDS = 0.5
"""How long Lambda lets a batch of rides or clicks fill."""

TIME = "2025-11-21T10:00:58.722861Z"
MESSAGE = {"roomId": "lobby", "message": "hello"}
RIDE = {"skierID": 1, "resortID": 1, "seasonID": "2025", "dayID": 1, "time": 217, "liftID": 21}
CLICK = {"adId": "a", "adType": "banner", "clickedAt": TIME, "clickId": "018f3c5e-7b1a-7c3d-9e2f-0a1b2c3d4e5f"}
CHAT = STREAMS["chat"]
SAMPLES: dict[str, tuple[Stream, dict[str, Any]]] = {"chat": (CHAT, MESSAGE), "ski": (SKI, RIDE), "ads": (ADS, CLICK)}
"""A small event of each stream."""


@dataclass(frozen=True)
class Load:
    """``rate`` events/s of ``event_bytes`` each, as clients send them, in frames or HTTP requests of ``batch``.

    Of the ``stream`` ``chat``, ``ski`` or ``ads``. Rides and clicks have no frames: for them ``http`` is true.

    Each event is pushed to ``listeners``, whose connections stay open. The events of a frame are in one room.
    """

    rate: float = 100.0
    event_bytes: int = 250
    batch: int = 25
    listeners: float = 0.0
    http: bool = False
    stream: str = "chat"

    @property
    def window(self) -> float:
        """How long Lambda lets a batch of its events fill, in seconds."""
        return 0.0 if self.stream == "chat" else WINDOW_SECONDS

    @property
    def frames(self) -> float:
        """Frames or requests in a month."""
        return self.events / self.batch

    @property
    def events(self) -> float:
        """Events in a month."""
        return self.rate * SECONDS


@dataclass(frozen=True)
class Item:
    """Dollars per month: at rest, under the load in addition, and of the usual design under the same load."""

    name: str
    rest: float = 0.0
    load: float = 0.0
    usual: float = 0.0
    is_dynamodb: bool = False


@dataclass(frozen=True)
class Row:
    """Bytes of one event as sent, in its table, and in each index."""

    sent: int
    table: int
    indexes: tuple[int, ...]

    @property
    def units(self) -> list[int]:
        """Write units of one put: of the table, and of each index."""
        return [math.ceil(size / KB) for size in (self.table, *self.indexes)]

    def stored(self, price: Prices) -> float:
        """Dollars a month for keeping it: in the table and its indexes, and for recovery, which has the table only."""
        kept = sum(size + ITEM_OVERHEAD for size in (self.table, *self.indexes)) * price("dynamodb_storage")
        return (kept + (self.table + ITEM_OVERHEAD) * price("dynamodb_recovery")) / GB


def row_of(event_bytes: int, stream: str = "chat") -> Row:
    """The row of a message whose JSON has ``event_bytes``, or as few as a message can have.

    A ride or click has the same row whatever it is sent as. Its indexes are taken to be as large as the row.
    """
    sender = SenderContext("user-0123", "user-0123", False, 1_763_719_258_722_861)
    if stream != "chat":
        of, event = SAMPLES[stream]
        size = size_of(of.item(of.accept(event, sender).event, sender.now, TableSettings(table="table")))
        return Row(event_bytes, size, (size,) * (write_units(of, event) - 1))
    raw = {
        "roomId": "room-0123",
        "messageId": "01a20292-958f-7c23-a001-8207a85ed176",
        "timestamp": "2025-11-21T10:00:58.722861Z",
        "message": "",
    }
    length = max(1, event_bytes - len(json.dumps(raw, separators=(",", ":"))))
    raw["message"] = "x" * min(length, 4_000)
    row = CHAT.item(CHAT.accept(raw, sender).event, sender.now, TableSettings(table="table", retention_days=30))
    whole = size_of(row) + max(0, length - 4_000)
    in_time_index = ("bucketId", "timestampSk", "roomId", "userId", "expiresAt")
    by_time = size_of({name: row[name] for name in in_time_index})
    return Row(len(json.dumps(raw, separators=(",", ":"))) + max(0, length - 4_000), whole, (whole, by_time))


def items(load: Load, stage: Stage, prices: Prices) -> list[Item]:
    """Every item of a month."""
    return [*_at_rest(stage, prices), *_writing(load, stage, prices), *_listening(load, prices)]


def once(stage: Stage, price: Prices) -> float:
    """Dollars that are paid once, when the stage is made: for warm throughput, as for an hour of provisioned units."""
    return stage.warm_units * price("warm_write_unit")


def _at_rest(stage: Stage, price: Prices) -> Iterator[Item]:
    nodes = stage.brokers * stage.nodes
    broker = nodes * HOURS * price(stage.instance.replace("mq.", "mq_").replace(".", "_"))
    yield Item(f"broker, {nodes} x {stage.instance}", broker)
    yield Item("broker storage", stage.brokers * stage.disk_gb * price("mq_storage"))
    yield Item("interface endpoints", stage.endpoints * HOURS * price("endpoint"))
    yield Item("cache, the smallest", 0.1 * HOURS * price("cache_storage"))
    if stage.minimum_units:
        hour = price("dynamodb_provisioned_write") + price("dynamodb_provisioned_read")
        minimum = stage.scaled * stage.minimum_units * hour * HOURS
        yield Item("DynamoDB, units that the tables of events always have", minimum)
        alarms = stage.scaled * SCALING_ALARMS * price("alarm_metric")
        yield Item("alarms that scale the tables of events", alarms)
    yield Item("secrets", stage.secrets * price("secret"))
    observed = stage.alarm_metrics * price("alarm_metric") + CUSTOM_METRICS * price("custom_metric")
    yield Item("alarms and metrics, the dashboard", observed + price("dashboard"))
    yield Item("Cognito clients of machines", stage.machine_clients * price("cognito_client"))
    probes = stage.brokers * sum(stage.queues.values()) * MINUTES
    calls = (SCHEDULED_CALLS + probes) * _call(price, 0.05, GIGABYTES) + probes * price("dynamodb_write")
    yield Item("scheduled calls and polling", calls + POLLS_PER_MINUTE * MINUTES * price("sqs_request"))


def _writing(load: Load, stage: Stage, price: Prices) -> Iterator[Item]:
    row, events, frames = row_of(load.event_bytes, load.stream), load.events, load.frames
    queues, days = stage.queues[load.stream], stage.retention[load.stream]
    usual_api = events * (_metered(row.sent, FRAME_BYTES) + 1) * price("websocket_message")
    if load.http:
        api = frames * _metered(load.batch * row.sent, REQUEST_BYTES) * price("http_request")
    else:
        metered = _metered(load.batch * row.sent, FRAME_BYTES) + _metered(load.batch * ACK_BYTES, FRAME_BYTES)
        api = frames * metered * price("websocket_message")
    yield Item("API Gateway, requests and acks", load=api, usual=usual_api)
    receive = _call(price, RECEIVE_SECONDS + RECEIVE_EVENT_SECONDS * load.batch, GIGABYTES)
    usual_call = _call(price, USUAL_SECONDS, USUAL_GIGABYTES)
    yield Item("Lambda, receiving", load=frames * receive, usual=events * usual_call)
    invocations = events / events_per_invocation(load, queues, load.window)
    yield Item("Lambda, persisting", load=persisting(load, queues, price, load.window))
    name = f"DynamoDB, {sum(row.units)} write units an event"
    usual_units = events * sum(row.units) * price("dynamodb_write")
    yield Item(name, load=_units(load, stage, price, row.units), usual=usual_units, is_dynamodb=True)
    activity = min(frames, ROOMS * queues * SECONDS) if load.stream == "chat" else 0
    yield Item("DynamoDB, last activity of rooms", load=activity * price("dynamodb_write"), is_dynamodb=True)
    # As many events as arrive in this time are stored from then on, when the first ones expire.
    stored = load.rate * days * 86_400 * row.stored(price)
    name = f"DynamoDB, storage after {days} days"
    yield Item(name, load=stored, usual=stored, is_dynamodb=True)
    logs = price("logs") / GB
    written = (frames + invocations) * LOG_BYTES + events * LOG_EVENT_BYTES
    yield Item("logs", load=written * logs, usual=events * LOG_BYTES * logs)
    yield Item("cache, commands", load=(frames + invocations) * CACHE_UNITS * price("cache_unit"))
    traffic = events * row.sent / GB
    moved = traffic * 1.4 * price("endpoint_data") + traffic * price("data_between_zones")
    yield Item("traffic between zones and endpoints", load=moved)
    acks = events * ACK_BYTES / GB * price("data_out")
    yield Item("data out, acks", load=acks, usual=acks)


def _units(load: Load, stage: Stage, price: Prices, units: Sequence[float]) -> float:
    """What the write units of each event cost, in a table and in each of its indexes.

    Of provisioned ones, the minimum is paid at rest.
    """
    if not stage.minimum_units:
        return load.events * sum(units) * price("dynamodb_write")
    above = sum(max(0.0, load.rate * each / SCALED_USE - stage.minimum_units) for each in units)
    return above * HOURS * price("dynamodb_provisioned_write")


def _listening(load: Load, price: Prices) -> Iterator[Item]:
    row, copies = row_of(load.event_bytes, load.stream), load.events * load.listeners
    pushed = copies / load.batch
    one, many = _metered(row.sent, FRAME_BYTES), _metered(load.batch * row.sent, FRAME_BYTES)
    messages = price("websocket_message")
    yield Item("API Gateway, live copies", load=pushed * many * messages, usual=copies * one * messages)
    second = GIGABYTES * price("lambda_gb_second")
    calls = min(pushed, load.frames) * price("lambda_request")
    yield Item("Lambda, pushing", load=calls + pushed * PUSH_SECONDS * second, usual=copies * PUSH_SECONDS * second)
    out = copies * row.sent / GB * price("data_out")
    yield Item("data out, live copies", load=out, usual=out)
    minutes = load.listeners * MINUTES * price("websocket_minute")
    yield Item("connections", load=minutes, usual=minutes)
    opened = load.listeners * SECONDS / CONNECTED_SECONDS
    call = _call(price, CHECK_CALL_SECONDS, GIGABYTES) + LOG_BYTES / GB * price("logs")
    rows = (OPEN_WRITES + CLOSE_WRITES) * price("dynamodb_write")
    yield Item("opening and closing connections", load=opened * (2 * call + rows), usual=opened * (2 * call + rows))
    checks = load.listeners * SECONDS / CHECK_SECONDS
    frame = 2 * messages + call
    kept = CHECK_WRITES * price("dynamodb_write") + CHECK_READS * price("dynamodb_read")
    yield Item("checks of connections", load=checks * (frame + kept), usual=checks * frame)


def write_units(stream: Stream, event: dict[str, Any], **more: str) -> int:
    """Write units of a small event of ``stream``, as a client sends it: a unit for its row, and for each index of it.

    ``more`` are attributes that the row gets after that.
    """
    sender = SenderContext("user-0123", "user-0123", False, 1_763_719_258_722_861)
    row = stream.item(stream.accept(event, sender).event, sender.now, TableSettings(table="table")) | more
    return 1 + sum(row.keys() >= {index.partition_key, index.sort_key} for index in stream.indexes)


def events_per_invocation(load: Load, queues: int, window: float = 0.0) -> float:
    """Events that one call of persist_events stores: those that came into its queue during the last call, or a window.

    With few events and no window, each request is a call. A queue is at its limit where its calls take as long as its
    events.
    """
    arriving = load.rate / queues
    waiting = arriving * PERSIST_SECONDS / max(1e-9, 1 - arriving * PERSIST_EVENT_SECONDS)
    return min(max(float(load.batch), waiting, arriving * window), float(RECORDS * load.batch))


def persisting(load: Load, queues: int, price: Prices, window: float = 0.0) -> float:
    """Dollars a month for the calls of persist_events that a load in so many queues takes."""
    together = events_per_invocation(load, queues, window)
    return load.events / together * _call(price, PERSIST_SECONDS + PERSIST_EVENT_SECONDS * together, GIGABYTES)


def _metered(size: float, unit: int) -> int:
    return max(1, math.ceil(size / unit))


def _call(price: Prices, seconds: float, gigabytes: float) -> float:
    """One call of a function."""
    return price("lambda_request") + seconds * gigabytes * price("lambda_gb_second")
