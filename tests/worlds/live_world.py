"""The hook that publishes live copies, with everything that it reads in memory."""

from __future__ import annotations

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.times import SECOND
from headrace.live import copies
from headrace.live.copies import LiveCopy
from headrace.live.hints import SubscriberHints, live_marker
from headrace.queues.names import live_queue
from headrace.streams.chat.messages.hooks import LiveHook
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections, MemoryRoomLog
from tests.fakes.queues import MemoryLivePublisher
from tests.fakes.storage import MemoryCache
from tests.worlds.senders import CHAT, CLOCK, NOW, TABLE, caller, message, sender


class Live:
    """The hook with everything that it reads, and a clock that tests move."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.cache = MemoryCache(self.clock)
        self.connections = CountedConnections(self.clock)
        self.audience = SubscriberHints(self.cache, self.connections, lambda: self.clock.now() / SECOND)
        self.publisher = MemoryLivePublisher()
        self.log = MemoryRoomLog(self.cache)
        self.marks: list[tuple[str, str, str]] = []
        """Rooms and keys of messages that the hook has marked, and their marks."""
        self.failure: StoreUnavailable | None = None
        self.hook = LiveHook(self.log, self.audience, lambda: self.publisher, self.clock, self.set_stored)

    def subscribe(self, room: str, connection: str = "c-1", since: str | None = None) -> None:
        self.connections.subscribe({room: since}, connection, caller(), self.clock.now() // SECOND)
        self.audience.mark_changed(room)

    def store(self, *items: Item) -> None:
        assert self.hook.after_store(items) == [None] * len(items)

    def store_unpublished(self, *items: Item) -> None:
        """Store rows while the broker takes no live copies."""
        self.publisher.down = True
        self.store(*items)
        self.publisher.down = False

    def set_stored(self, room_id: str, key: str, stored_at: str) -> None:
        if self.failure is not None:
            raise self.failure
        self.marks.append((room_id, key, stored_at))

    def mark(self, room: str) -> bytes | None:
        return self.cache.get_many([live_marker(room)])[0]

    def copies(self) -> list[LiveCopy]:
        return [copies.parse(each.body) for each in self.publisher.sent]

    def pushed(self) -> list[tuple[str, list[str]]]:
        """Rooms and texts, in the order in which they were published."""
        found = []
        for each in self.publisher.sent:
            copy = copies.parse(each.body)
            assert each.routing_key == live_queue(copy.room_id)
            found.append((copy.room_id, [item["message"] for item in copy.items.values()]))
        return found


class CountedConnections(MemoryConnections):
    """Counts calls; it can be down or slow."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__(clock)
        self.clock = clock
        self.looks = 0
        self.down = False
        self.takes = 0.0

    def has_subscriptions(self, room_id: str) -> bool:
        self.looks += 1
        if self.down:
            raise StoreUnavailable("down")
        found = super().has_subscriptions(room_id)
        self.clock.advance(self.takes)
        return found


def row(room: str = "kitchen", text: str = "hello", id: str = "m-1") -> Item:
    event = CHAT.accept(message(roomId=room, message=text, messageId=id), sender()).event
    return CHAT.item(event, CLOCK.now(), TABLE)
