"""Frames that send messages and signals, and ping; also every frame of an unknown action."""

from headrace.api.params import NoFields
from headrace.api.rates.rate_limiter import SIGNALS
from headrace.api.router import Route
from headrace.bootstrap.acceptor import frame_sending
from headrace.bootstrap.api import frame_api
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable, TooLarge
from headrace.streams.chat.changes import routes as changes
from headrace.streams.chat.live.frames import BATCH_LIMIT, Ack, Acks, Pong, ping, send_batch, send_message
from headrace.streams.chat.live.signals import SignalFrame, SignalSent, send_signal
from headrace.streams.chat.stream import CHAT

WRITE = (CHAT_WRITE, EVENTS_WRITE)
ERRORS = (InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable)

ROUTES = {
    "sendMessage": Route(send_message, scopes=WRITE, answer=Ack, errors=ERRORS, stream=CHAT),
    "sendBatch": Route(
        send_batch, scopes=WRITE, answer=Acks, errors=(*ERRORS, TooLarge), stream=CHAT, batch=BATCH_LIMIT
    ),
    "editMessage": changes.frame(changes.edit_frame, changes.EditFrame, changes.Edited),
    "deleteMessage": changes.frame(changes.delete_frame, changes.DeletionFrame, changes.Deleted),
    "react": changes.frame(changes.react_frame, changes.ReactionFrame, changes.Reacted),
    "unreact": changes.frame(changes.unreact_frame, changes.DeletionFrame, changes.Unreacted),
    "sendSignal": Route(
        send_signal, scopes=WRITE, body=SignalFrame, answer=SignalSent, errors=(NotFound,), limit=SIGNALS
    ),
    "ping": Route(ping, body=NoFields, answer=Pong),
}

handler = frame_api(ROUTES, frame_sending)
