"""Frames that send messages and signals, and ping; also every frame of an unknown action."""

from headrace.api.params import NoFields
from headrace.api.router import Route
from headrace.bootstrap.acceptor import frame_sending
from headrace.bootstrap.api import frame_api
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable, TooLarge
from headrace.stage.chosen import routes_of
from headrace.stage.registry import STREAMS
from headrace.streams.chat.live.frames import BATCH_LIMIT, Ack, Acks, Pong, ping, send_batch, send_message
from headrace.streams.chat.stream import MESSAGE

CHAT = STREAMS[MESSAGE]
WRITE = (CHAT_WRITE, EVENTS_WRITE)
ERRORS = (InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable)

ROUTES = {
    "sendMessage": Route(send_message, scopes=WRITE, answer=Ack, errors=ERRORS, stream=CHAT),
    "sendBatch": Route(
        send_batch, scopes=WRITE, answer=Acks, errors=(*ERRORS, TooLarge), stream=CHAT, batch=BATCH_LIMIT
    ),
    "ping": Route(ping, body=NoFields, answer=Pong),
}
ROUTES |= routes_of("receive_frame")

handler = frame_api(ROUTES, frame_sending)
