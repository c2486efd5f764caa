"""Hooks receive every stored row, and their failures send events to the retry lane."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.delivery.persister import Persister
from headrace.runtime.observability import Meter
from headrace.storage.ports import Failure
from headrace.streams.chat.stream import CHAT
from tests.worlds.senders import CLOCK, TABLE, caller, message
from tests.worlds.write_path import WritePath


class Hook:
    def __init__(self, refused: str = "") -> None:
        self.items: list[str] = []
        self._refused = refused

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        self.items += [f"{stream.name} {item['messageId']}" for item in items]
        return [StoreUnavailable("not now") if item["messageId"] == self._refused else None for item in items]


def lanes_with(*after: Hook) -> WritePath:
    write_path = WritePath()
    write_path.persister = Persister(
        write_path.store, write_path.retry, {"chat": TABLE, "probe": TABLE}, CLOCK, after=after
    )
    write_path.acceptor.accept(CHAT, caller(), [message(messageId="m-1"), message(messageId="m-2")], "c", Meter())
    return write_path


def test_hooks_get_every_stored_row_and_no_other() -> None:
    hook = Hook()
    write_path = lanes_with(hook)
    write_path.store.throttled = lambda item: item["messageId"] == "m-2"

    write_path.persist(*write_path.broker.bodies())

    assert hook.items == ["chat m-1"]


def test_an_event_whose_hook_failed_is_stored_and_goes_to_the_retry_lane() -> None:
    first, second = Hook(refused="m-2"), Hook()
    write_path = lanes_with(first, second)

    write_path.persist(*write_path.broker.bodies())

    assert len(write_path.rows()) == 2
    assert [event["messageId"] for event in write_path.retried()] == ["m-2"]
    assert second.items == ["chat m-1"]
