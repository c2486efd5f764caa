"""Measures live messages to many subscribers of one room: ``python -m bench.live --seconds 60``.

Starts its own stage. 100 subscribers follow a room with the Python client, five senders send 50 messages a second.
Halfway, a tenth of the subscribers lose their connections. At the end every subscriber must have every message, pushed
or fetched. Latency is the time from sending a message until a subscriber has it, for subscribers that kept their
connection.

Then boto3 and push_live each post the same frame to the same connections, and the CPU of each in this process
is measured.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable

import aiohttp
import boto3
from boto3.dynamodb.conditions import Key
from botocore.credentials import Credentials

from bench import ROOT
from bench.live.lean import SENDERS, Client, connect_all, send_messages
from bench.rounds import Series, command, figure, head, percentile, ratio, row
from bench.stages import Stage, started
from loadtest.client.watchers import Watchers
from localstage.template.attributes import ACCOUNT

STATE = ROOT / ".local" / "bench-live"
ROOM = "bench-live"
POSTS = 2000


def posts(websocket_url: str, connections: list[str], frame: bytes, rounds: int) -> list[list[float]]:
    """Seconds of CPU per post and round: by boto3, and by push_live."""
    from headrace.core.times import SystemClock
    from headrace.live.push.api_gateway import ApiGatewayPusher, Push, signer_of_posts
    from headrace.live.push.connection_pool import ConnectionPool

    url = websocket_url.replace("ws://", "http://")
    session = boto3.session.Session(ACCOUNT, "local", region_name="us-east-1")
    usual = session.client("apigatewaymanagementapi", endpoint_url=url)
    signer = signer_of_posts(url, "us-east-1", Credentials(ACCOUNT, "local"), SystemClock())
    pusher = ApiGatewayPusher(signer, ConnectionPool(url))

    def by_boto3() -> None:
        for connection in connections:
            usual.post_to_connection(ConnectionId=connection, Data=frame)

    def by_push_live() -> None:
        results = pusher.deliver([Push(connection, [frame]) for connection in connections], 30)
        if set(results) != {"sent"}:
            raise SystemExit(f"not all frames were sent: {results}")

    calls = max(2, POSTS // len(connections) // rounds)
    ways = (by_boto3, by_push_live)
    seen = [[cpu_per_post(way, len(connections), calls) for way in ways] for _ in range(rounds)]
    return [list(way) for way in zip(*seen, strict=True)]


def cpu_per_post(post_all: Callable[[], None], connections: int, calls: int) -> float:
    """The median seconds of this thread's CPU per connection in ``calls`` calls, after a first one that warms up."""
    post_all()
    spent = []
    for _ in range(calls):
        began = time.thread_time()
        post_all()
        spent.append((time.thread_time() - began) / connections)
    return statistics.median(spent)


async def measure(stage: Stage, watchers: Watchers, rounds: int, seconds: float, rate: float) -> list[Series]:
    """Send and push, then post; a message that is missing ends the benchmark."""
    target = stage.target
    tokens = [target.token_for(f"sender-{number}", "chat:read", "chat:write")() for number in range(SENDERS)]
    senders = [Client(target.websocket_url, token) for token in tokens]

    async def missing(sent: int) -> int:
        """How many of all messages the subscribers lack: none, or what is missing after a minute."""
        for _ in range(600):
            accepted = {json.loads(text)["messageId"] for each in senders for _, text in each.arrived}
            lacking = (sent - len(accepted)) * len(watchers) + watchers.missing(accepted)
            if not lacking:
                break
            await asyncio.sleep(0.1)
        return lacking

    async with aiohttp.ClientSession() as session:
        await connect_all(session, senders, f"{ROOM}-senders")
        for each in senders:
            each.listen()
        warm = len(await send_messages(senders, ROOM, "warm", 5, 2))  # without cold starts in the measurement
        await missing(warm)
        began = time.time()
        sending = asyncio.create_task(send_messages(senders, ROOM, "measured", rate, seconds))
        await asyncio.sleep(seconds / 2)
        await asyncio.to_thread(watchers.cut, len(watchers) // 10)
        sent = await sending
        took = time.time() - began
        lacking = await missing(warm + len(sent))
        for each in senders:
            await each.close()
    rows = stage.table("ConnectionsTable").query(KeyConditionExpression=Key("roomId").eq(ROOM))["Items"]
    connections = [str(each["connectionId"]) for each in rows]
    frame = json.dumps({"type": "bench", "text": "x" * 300}).encode()
    per_post = await asyncio.to_thread(posts, target.websocket_url, connections, frame, rounds)
    epoch = time.time() - time.monotonic()
    sent_at = {f"measured-{number}": at - epoch for number, at in enumerate(sent)}
    found = report(watchers.delays(sent_at, len(watchers) // 10), len(watchers), len(sent), lacking, took, per_post)
    if lacking:
        raise SystemExit("messages are missing")
    return found


def report(
    latencies: list[float], subscribers: int, messages: int, missing: int, took: float, per_post: list[list[float]]
) -> list[Series]:
    """Print the table; returns its numbers."""
    usual, ours = map(statistics.median, per_post)
    against = ratio("CPU per post against boto3", per_post[1], per_post[0], "lower")
    p50, p99 = (percentile(latencies, part) * 1000 for part in (50, 99))
    print(f"{subscribers} subscribers, {messages} messages in {took:.0f} s; a tenth of them cut off halfway\n")
    head("", "", "aim")
    row("messages missing at a subscriber", f"{missing} of {subscribers * messages:,}", "0")
    row("send to subscriber, p50", f"{p50:.0f} ms", "≤ 300 ms")
    row("send to subscriber, p99", f"{p99:.0f} ms", "≤ 1,500 ms")
    row("messages delivered", f"{subscribers * messages / took:,.0f} /s", "–")
    row("one post by boto3's `post_to_connection`, CPU", f"{usual * 1e6:.0f} µs", "–")
    row("one post by push_live, CPU", f"{ours * 1e6:.0f} µs ({against.median:.2f}×)", "≤ 0.1×")
    return [
        against,
        figure("send to subscriber, p50", [p50], "ms"),
        figure("send to subscriber, p99", [p99], "ms"),
        figure("messages delivered", [subscribers * messages / took], "/s"),
    ]


def main(rounds: int, seconds: float, rate: float, subscribers: int) -> list[Series]:
    stage = Stage(STATE)
    with started(stage):
        watchers = Watchers(stage.target, "bench", [ROOM], subscribers)
        watchers.start()
        found = asyncio.run(measure(stage, watchers, rounds, seconds, rate))
        watchers.stop()
        return found


if __name__ == "__main__":
    command(__doc__, main, 5, seconds=60.0, rate=50.0, subscribers=100)
