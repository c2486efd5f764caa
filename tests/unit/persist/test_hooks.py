from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.persist.persister import Persister
from headrace.runtime.observability import Meter
from headrace.storage.ports import Failure
from headrace.streams.chat.stream import CHAT
from tests.worlds.senders import CLOCK, TABLE, caller, message
from tests.worlds.write_path import Lanes


class Listener:
    def __init__(self, refused: str = "") -> None:
        self.heard: list[str] = []
        self._refused = refused

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        self.heard += [f"{stream.name} {item['messageId']}" for item in items]
        return [StoreUnavailable("not now") if item["messageId"] == self._refused else None for item in items]


def lanes_with(*after: Listener) -> Lanes:
    lanes = Lanes()
    lanes.persister = Persister(lanes.store, lanes.retry, {"chat": TABLE, "probe": TABLE}, CLOCK, after=after)
    lanes.acceptor.accept(CHAT, caller(), [message(messageId="m-1"), message(messageId="m-2")], "c", Meter())
    return lanes


def test_what_follows_from_storing_hears_of_every_stored_row_and_of_no_other() -> None:
    listener = Listener()
    lanes = lanes_with(listener)
    lanes.store.throttled = lambda item: item["messageId"] == "m-2"

    lanes.persist(*lanes.broker.bodies())

    assert listener.heard == ["chat m-1"]


def test_an_event_whose_consequence_failed_is_stored_and_comes_again_through_the_retry_lane() -> None:
    first, second = Listener(refused="m-2"), Listener()
    lanes = lanes_with(first, second)

    lanes.persist(*lanes.broker.bodies())

    assert len(lanes.rows()) == 2
    assert [event["messageId"] for event in lanes.retried()] == ["m-2"]
    assert second.heard == ["chat m-1"]
