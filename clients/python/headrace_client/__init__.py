"""A client of Headrace: sends events until each is accepted, and follows rooms without a gap.

    async with over_http("https://host", token) as sender:
        await sender.send([{"roomId": "kitchen", "message": "hello"}])

Following a room yields its live messages, and fetches missed messages from the history:

    async with Rooms("wss://host/stage", token) as rooms:
        await rooms.follow("kitchen")
        async for message in rooms:
            print(message["username"], message["message"])

``token`` is an access token, or a function that returns one, also asynchronously. The function is called for each
connection or HTTP request, because tokens expire. The logger ``headrace_client`` says when the client connects, and why
it tries again.

Live messages may be lost; the history is complete. The client keeps a position of each room, which moves with each
frame that follows the one before. After it connects again, after a frame with ``missed``, when a frame is missing for a
second, and every few minutes, it resumes from that position: it gets what was stored since, and drops what it had
already. Fetched messages are delivered in the order of their keys.
"""

from .blocking import BlockingSender, BlockingTransport
from .browser import sign_in
from .calls import Sent
from .client import AsyncHeadrace, Headrace
from .connection import ConnectionSettings
from .errors import HeadraceError, NotAccepted, NoToken, RateLimited, Refused, Unavailable, Unreachable
from .following import StreamFollower
from .oauth import ClientCredentials, Grant, SignedIn, discover
from .pace import SendSettings
from .rooms import Rooms
from .sending import Sender, over_http, over_websocket
from .stream import AsyncStream, Stream
from .tokens import Token
from .types import MessageItem as Message

__version__ = "1.2.0"

__all__ = [
    "AsyncHeadrace",
    "AsyncStream",
    "BlockingSender",
    "BlockingTransport",
    "ClientCredentials",
    "ConnectionSettings",
    "Grant",
    "Headrace",
    "HeadraceError",
    "Message",
    "NoToken",
    "NotAccepted",
    "RateLimited",
    "Refused",
    "Rooms",
    "SendSettings",
    "Sender",
    "Sent",
    "SignedIn",
    "Stream",
    "StreamFollower",
    "Token",
    "Unavailable",
    "Unreachable",
    "__version__",
    "discover",
    "over_http",
    "over_websocket",
    "sign_in",
]
