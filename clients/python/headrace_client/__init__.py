"""A client of Headrace: sends events until each is accepted, and follows rooms without a gap.

    async with over_http("https://host", token) as sender:
        sent = await sender.send([{"roomId": "kitchen", "message": "hello"}])

Following a room yields its live messages, and fetches missed messages from the history:

    async with Rooms("wss://host/stage", token) as rooms:
        await rooms.follow("kitchen")
        async for message in rooms:
            print(message["username"], message["message"])

``token`` returns an access token. It is called for each connection or HTTP request, because tokens expire.

Live messages may be lost; the history is complete. The client keeps a position of each room, which moves with each
frame that follows the one before. After it connects again, after a frame with ``missed``, when a frame is missing for a
second, and every few minutes, it resumes from that position: it gets what was stored since, and drops what it had
already. Fetched messages are delivered in the order of their keys.
"""

from .connection import ConnectionSettings, Refused, Unavailable
from .pace import SendSettings
from .room import Message
from .rooms import Rooms
from .sending import BlockingSender, Sender, Sent, over_http, over_websocket

__all__ = [
    "BlockingSender",
    "ConnectionSettings",
    "Message",
    "Refused",
    "Rooms",
    "SendSettings",
    "Sender",
    "Sent",
    "Unavailable",
    "over_http",
    "over_websocket",
]
