"""Frames that send messages, and ping; also every frame of an unknown action."""

from headrace.api.router import Route
from headrace.bootstrap.api import frame_api
from headrace.bootstrap.ingest import frame_acceptor
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.streams.chat.frames import ping, send_batch, send_message

ROUTES = {
    "sendMessage": Route(send_message, scopes=(CHAT_WRITE, EVENTS_WRITE)),
    "sendBatch": Route(send_batch, scopes=(CHAT_WRITE, EVENTS_WRITE)),
    "ping": Route(ping),
}

handler = frame_api(ROUTES, frame_acceptor)
