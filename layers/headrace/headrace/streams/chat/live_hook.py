"""Live copies: messages stored in a room with subscribers are published to ``headrace.live``, for push_live.

Best effort: history is complete, live copies may be missing. Each room and batch is one message (several beyond 32 KB),
and each room has one queue, so that its order is preserved.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.api.paging.page import item_of
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.live.frames import frames
from headrace.live.subscriber_hints import SubscriberHints
from headrace.queues.names import live_queue
from headrace.queues.ports import LivePublisher, Outgoing
from headrace.runtime.observability import report, report_unexpected
from headrace.storage.ports import Failure
from headrace.streams.chat.stream import CHAT


class LiveHook:
    """A hook that publishes live copies of stored rows; a failure of it fails no event."""

    def __init__(self, hints: SubscriberHints, publisher: LivePublisher) -> None:
        self._hints = hints
        self._publisher = publisher

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        """Publish the messages of rooms with subscribers. Every outcome is ``None``."""
        if stream is CHAT and items:
            try:
                self._publish(items)
            except Exception as error:  # noqa: BLE001 - reported; a live copy never sends an event back to its lane
                report_unexpected(error)
        return [None] * len(items)

    def _publish(self, items: Sequence[Item]) -> None:
        rooms: dict[str, dict[str, Item]] = {}
        for item in items:
            rooms.setdefault(item["roomId"], {})[item["timestampSk"]] = item
        messages = [
            Outgoing(live_queue(room_id), body, "")
            for room_id in self._hints.rooms_with_subscribers(list(rooms))
            for body in frames(room_id, [item_of(item) for item in rooms[room_id].values()])
        ]
        failure = self._publisher.publish(messages)
        if failure is not None:
            report("live copies", f"stored messages are not pushed: {failure.message}")
