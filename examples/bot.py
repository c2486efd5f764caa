"""A bot that answers each "ping" in a room: ``python examples/bot.py lobby``.

``pip install ./clients/python`` installs the client, and ``eval "$(make -s env)"`` sets the address and the token of
the local stage. Ctrl-C ends the bot.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from headrace_client import Rooms


async def answer(room: str) -> None:
    """Follow ``room`` and answer, also after a cut: the client catches up with what came meanwhile."""
    async with Rooms(os.environ["WS"], os.environ["TOKEN"]) as rooms:
        await rooms.follow(room)
        print(f"following {room}", flush=True)
        async for message in rooms:
            if message["message"] == "ping":
                await rooms.send(room, f"pong, {message['username']}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(answer(sys.argv[1]))
