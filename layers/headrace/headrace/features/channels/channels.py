"""The channel of a user: what changed in the user's rooms, as frames with positions, like those of a room.

A frame says what to read again, and has no copy of it. So frames in any order lead to the current state, and a frame
has nothing that the routes would not show.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from headrace.core.json import encode, encoded_list
from headrace.core.keys import user_channel
from headrace.core.times import Clock, iso
from headrace.live.frames import frame
from headrace.live.hints import SOME, SubscriberHints
from headrace.queues.names import live_queue
from headrace.queues.ports import LivePublisher, Outgoing
from headrace.runtime.observability import logger, report, report_unexpected
from headrace.services.hints import subscriber_hints
from headrace.services.messages import room_log
from headrace.services.shared import clock
from headrace.streams.chat.messages.positions import new_tag, position
from headrace.streams.chat.messages.redis import RoomLog
from headrace.streams.chat.messages.room_log import Batch, LoggedFrame, append
from headrace.streams.chat.rooms.channels import Change, Changed, Channels
from headrace.streams.chat.stream import PositionText


class Changes(TypedDict):
    """What has changed for the user, pushed after ``subscribe`` with ``userId``.

    The other fields are those of ``messages``.
    """

    type: Literal["changes"]
    userId: str
    position: NotRequired[PositionText]
    follows: NotRequired[str]
    through: NotRequired[list[str]]
    missed: NotRequired[Literal[True]]
    tokenExpiring: NotRequired[Literal[True]]
    items: list[Change]


class UserChannels(Channels):
    """Channels over the logs and the live queues of rooms."""

    def __init__(self, log: RoomLog, hints: SubscriberHints, publisher: LivePublisher, clock: Clock) -> None:
        self._log = log
        self._hints = hints
        self._publisher = publisher
        self._clock = clock

    def publish(self, user_ids: Collection[str], changed: Changed, room_id: str, *, read_to: str | None = None) -> None:
        now, tag = self._clock.now(), new_tag()
        change: dict[str, Any] = {"key": tag, "changed": changed, "roomId": room_id, "timestamp": iso(now)}
        if read_to is not None:
            change["readTo"] = read_to
        try:
            self._publish([user_channel(user_id) for user_id in user_ids], encode(change), now, tag)
        except Exception as error:  # noqa: BLE001 - reported; the change itself is stored, and must be answered
            report_unexpected(error)

    def _publish(self, channels: Collection[str], item: str, now: int, tag: str) -> None:
        batch = Batch(tag, [LoggedFrame(tag, now, encoded_list([item]))])
        appended = append(self._log, dict.fromkeys(channels, batch), "changes have no position")
        followed = self._hints.rooms_with_subscribers(
            {channel: appended[channel].mark if appended else SOME for channel in channels}
        )
        messages = []
        for channel, mark in followed.items():
            follows = (appended[channel].follows,) if appended else ()
            body = frame(channel, [item], position(now, tag if appended else ""), follows, mark=mark)
            messages.append(Outgoing(live_queue(channel), body, logger.get_correlation_id() or ""))
        failure = self._publisher.publish(messages) if messages else None
        if failure is not None:
            report("user channels", f"changes are not pushed: {failure.message}")


def channels(publisher: LivePublisher) -> UserChannels:
    return UserChannels(room_log(), subscriber_hints(), publisher, clock())
