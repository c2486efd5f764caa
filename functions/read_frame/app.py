"""Frames about rooms: subscribe, check for new messages, resume, unsubscribe, read the history."""

from headrace.api.router import Route
from headrace.bootstrap.api import frame_api
from headrace.bootstrap.chat import subscriptions
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.stage.chosen import routes_of
from headrace.streams.chat.live.check_frames import Checked, CheckFrame, Resumed, ResumeFrame
from headrace.streams.chat.live.checks import check, resume
from headrace.streams.chat.live.subscriptions import (
    FramePage,
    HistoryPage,
    RoomFrame,
    Subscribed,
    Unsubscribed,
    history,
    subscribe,
    unsubscribe,
)

ROUTES = {
    "subscribe": Route(subscribe, scopes=(CHAT_READ,), body=RoomFrame, answer=Subscribed),
    "check": Route(check, scopes=(CHAT_READ,), body=CheckFrame, answer=Checked),
    "resume": Route(resume, scopes=(CHAT_READ,), body=ResumeFrame, answer=Resumed),
    "unsubscribe": Route(unsubscribe, scopes=(CHAT_READ,), body=RoomFrame, answer=Unsubscribed),
    "history": Route(
        history,
        scopes=(CHAT_READ,),
        query=FramePage,
        body=RoomFrame,
        answer=HistoryPage,
        errors=(InvalidCursor, NotFound),
    ),
}
ROUTES |= routes_of("read_frame")

handler = frame_api(ROUTES, subscriptions)
