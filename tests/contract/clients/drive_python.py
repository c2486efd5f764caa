"""Makes every request and sends every frame with the Python client."""

from __future__ import annotations

import asyncio
from typing import Any

from headrace_client import AsyncHeadrace, Rooms, SendSettings, over_websocket
from tests.worlds.described_stage import DescribedStage
from tools.python_client.operations import snake

KEY = "2026-11-22T10:00:00.000000Z#m-1#fpmansl7byak"
FAST = SendSettings(retry_timeout=0.001)


async def ask_everything(stage: DescribedStage) -> dict[str, Any]:
    """The answer to each operation, which is made with the method of its name."""
    answers = {}
    async with AsyncHeadrace(stage.http_url, "h.p.s", FAST) as client:
        for key, operation in stage.operations.items():
            arguments = {snake(name): value for name, value in stage.arguments(operation).items()}
            answers[key] = await getattr(client, snake(operation["operationId"]))(**arguments)
        (sent,) = await client.send([{"roomId": "kitchen", "message": "hello"}])
        assert sent.lane == "main"
    return answers


async def send_every_frame(stage: DescribedStage) -> dict[str, list[Any]]:
    """What reaches the program."""
    got: dict[str, list[Any]] = {"messages": [], "changes": [], "signals": []}
    async with Rooms(stage.ws_url, "h.p.s", signal=got["signals"].append) as rooms:
        await rooms.follow("kitchen")
        position = str(rooms.rooms["kitchen"].position)
        async for message in rooms:
            got["messages"].append(message)
            break
        await rooms.send("kitchen", "hello")
        assert await rooms.check({"kitchen": position}) in ({"kitchen": True}, {"kitchen": False})
        await rooms.follow("kitchen", since=position)
        await rooms.signal("kitchen", "typing")
        await rooms.follow_user("alice", got["changes"].append)
        place = {"roomId": "kitchen", "key": KEY}
        await rooms.connection.request("editMessage", **place, message="hello, all")
        await rooms.connection.request("deleteMessage", **place)
        await rooms.connection.request("react", **place, value="\U0001f44d")
        await rooms.connection.request("unreact", **place)
        await rooms.connection.request("sendEvents", stream="doors", events=[{"door": "front", "badge": "alice"}])
        for action in ("follow", "unfollow"):
            await rooms.connection.request(action, stream="doors", key="front")
        await rooms.unfollow("kitchen")
        for action in ("history", "ping"):
            await rooms.connection.request(action, **({"roomId": "kitchen"} if action == "history" else {}))
        async with asyncio.timeout(20):
            while not (len(got["changes"]) > 1 and got["signals"]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            while "authenticate" not in stage.asked:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    events: list[Any] = [{"roomId": "kitchen", "message": text} for text in ("one", "two")]
    async with over_websocket(stage.ws_url, "h.p.s") as sender:
        assert [each.lane for each in await sender.send(events)] == ["main", "main"]
    return got
