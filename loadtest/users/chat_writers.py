"""Locust users that send messages."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from loadtest.client.chat_events import ChatEvent
from loadtest.client.websocket import WebSocket
from loadtest.runs.chat_work import ChatWork
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.sending.checked_posts import CheckedPosts
from loadtest.sending.http_sender import PostRequest
from loadtest.sending.retry import open_patiently
from loadtest.sending.websocket_sender import WebSocketSender
from loadtest.users.posting import Posting
from loadtest.users.stage_user import StageUser

FRAME_TIMEOUT = 20.0
"""Seconds until a frame has no answer."""


def chat_of(run: PhaseRun) -> ChatWork:
    """The chat work of ``run``."""
    assert isinstance(run.work, ChatWork)  # noqa: S101 - the catalog gives chat users chat phases only
    return run.work


class WebSocketWriter(StageUser):
    """Sends a frame over its WebSocket, waits for the answer, and sends the next one."""

    _websocket: WebSocket | None = None

    def connect(self, run: PhaseRun) -> None:
        """Open the WebSocket."""
        work, batch = chat_of(run), next(each.batch for each in run.phase.loads if each.kind == self.kind)
        name = "sendMessage" if batch == 1 else f"sendBatch of {batch}"
        self._from = self.sender(run)
        self._websocket = WebSocket(self.target.websocket_url, self._from.token, timeout=FRAME_TIMEOUT)
        open_patiently(self._websocket)
        self._sender = WebSocketSender(
            self._websocket,
            work.checker,
            window=1,
            single=batch == 1,
            on_accepted=work.accepted,
            # One Locust event per frame instead of per message: the client may share the CPU with the stage.
            on_answer=lambda count, seconds: self.report("WebSocket", name, seconds, count),
        )

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Send one frame."""
        self._sender.send(chat_of(run).messages(self._from, self.place_of(run), arrival.events), arrival.due)

    def disconnect(self) -> None:
        """Close the WebSocket."""
        if self._websocket is not None:
            self._websocket.close()
            self._websocket = None


class HttpWriter(Posting):
    """Posts messages, one or a batch at a time."""

    posts = "messages"

    def connect(self, run: PhaseRun) -> None:
        """Get a token."""
        self._from = self.sender(run)
        self.open(self._from.token, CheckedPosts(chat_of(run).checker, chat_of(run).accepted))

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Post one message or one batch."""
        messages = chat_of(run).messages(self._from, self.place_of(run), arrival.events)
        for each in messages:
            chat_of(run).checker.attempt(each)
        self.post(run, post_of(messages), arrival.due)


def post_of(messages: Sequence[ChatEvent]) -> PostRequest[ChatEvent]:
    """The request that posts one message to its room, or several in a batch."""
    if len(messages) == 1:
        path = f"/rooms/{quote(messages[0].room_id, safe='')}/messages"
        return PostRequest(path, messages, lambda left: left[0].body(with_room=False))
    return PostRequest("/messages/batch", messages, lambda left: {"events": [each.body() for each in left]})
