"""A client that sends events until they are accepted, and one that follows rooms.

    async with over_http("https://host", token) as sender:
        sent = await sender.send([{"roomId": "kitchen", "message": "hello"}])

Following gives live messages as they are said, and what was missed fetched from history:

    async with Rooms("wss://host/stage", token) as rooms:
        await rooms.follow("kitchen")
        async for message in rooms:
            print(message["username"], message["message"])

``token`` is called for every connection, since a token ends. The one dependency is aiohttp.

Live messages are a hint, history is the truth. So the client remembers the newest key of each room, and whenever it may
have missed something (a new connection, a frame that says ``missed``, a newer head than it has) it fetches history
from a while before that key, and leaves out what it had already. Messages of a gap come in the order of their keys.
"""

from .connection import Lost, Patience, Refused
from .pace import Tempo
from .room import Message
from .rooms import Rooms
from .sending import Sender, Sent, over_http, over_websocket

__all__ = [
    "Lost",
    "Message",
    "Patience",
    "Refused",
    "Rooms",
    "Sender",
    "Sent",
    "Tempo",
    "over_http",
    "over_websocket",
]
