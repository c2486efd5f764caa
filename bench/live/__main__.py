"""Measures the CPU of a post to a connection: ``python -m bench.live``.

Starts its own stage, with 100 subscribers of a room. boto3 and push_live each post the same frame to the same
connections, in this process.
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
from bench.live.lean import Client, connect_all
from bench.rounds import Series, command, head, ratio, row
from bench.stages import Stage, started
from localstage.core.model import ACCOUNT

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


async def measure(stage: Stage, rounds: int, subscribers: int) -> list[list[float]]:
    """Connect the subscribers, and post to them; the result is that of :func:`posts`."""
    target = stage.target
    clients = [
        Client(target.websocket_url, target.token_for(f"bench-{each}", "chat:read")()) for each in range(subscribers)
    ]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await connect_all(session, clients, ROOM)
        for each in clients:
            each.listen()
        rows = stage.table("ConnectionsTable").query(KeyConditionExpression=Key("roomId").eq(ROOM))["Items"]
        connections = [str(each["connectionId"]) for each in rows]
        frame = json.dumps({"type": "bench", "text": "x" * 300}).encode()
        found = await asyncio.to_thread(posts, target.websocket_url, connections, frame, rounds)
        for each in clients:
            await each.close()
    return found


def main(rounds: int, subscribers: int) -> list[Series]:
    stage = Stage(STATE)
    with started(stage):
        per_post = asyncio.run(measure(stage, rounds, subscribers))
    usual, ours = map(statistics.median, per_post)
    against = ratio("CPU per post against boto3", per_post[1], per_post[0], "lower")
    head("", f"CPU, {subscribers} subscribers", "aim")
    row("one post by boto3's `post_to_connection`", f"{usual * 1e6:.0f} µs", "–")
    row("one post by push_live", f"{ours * 1e6:.0f} µs ({against.median:.2f}×)", "≤ 0.1×")
    return [against]


if __name__ == "__main__":
    command(__doc__, main, 5, subscribers=100)
