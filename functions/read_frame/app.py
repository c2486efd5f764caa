"""Frames about a room: subscribe to it, unsubscribe, read its history."""

from headrace.api.router import Route
from headrace.bootstrap.api import frame_api
from headrace.bootstrap.chat import subscriptions
from headrace.core.caller import CHAT_READ
from headrace.streams.chat.frames import RoomFrame, history, subscribe, unsubscribe

ROUTES = {
    "subscribe": Route(subscribe, scopes=(CHAT_READ,), body=RoomFrame),
    "unsubscribe": Route(unsubscribe, scopes=(CHAT_READ,), body=RoomFrame),
    "history": Route(history, scopes=(CHAT_READ,), body=RoomFrame),
}

handler = frame_api(ROUTES, subscriptions)
