"""A client that follows rooms: live messages as they are said, and what it missed fetched from history.

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
from .room import Message
from .rooms import Rooms

__all__ = ["Lost", "Message", "Patience", "Refused", "Rooms"]
