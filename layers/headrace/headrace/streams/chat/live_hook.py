"""Live copies: what is stored in a room that somebody listens to is published to ``headrace.live``, for push_live.

Best effort, whatever is away: live is a hint, history is the truth. One message per room and batch (more where 32 KB do
not hold it), in one queue per room, so that a room's order stays.
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
    """An :class:`~headrace.core.stream.StoredHook` that publishes live copies, and lets no event fail for it."""

    def __init__(self, audience: SubscriberHints, publisher: LivePublisher) -> None:
        self._audience = audience
        self._publisher = publisher

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        """Publish what somebody listens to. Every outcome is ``None``."""
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
            for room_id in self._audience.heard(list(rooms))
            for body in frames(room_id, [item_of(item) for item in rooms[room_id].values()])
        ]
        failure = self._publisher.publish(messages)
        if failure is not None:
            report("live copies", f"stored messages are not pushed: {failure.message}")
