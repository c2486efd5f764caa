"""Hooks see the rows before and after they are stored, and their failures send events to the retry lane."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Reason
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import Hooks, RowWriter
from headrace.runtime.observability import Meter
from headrace.streams.chat.stream import MESSAGE
from tests.worlds.senders import CHAT, CLOCK, TABLE, caller, message
from tests.worlds.write_path import WritePath


class Follower:
    """Fails after the row with the id ``refused`` is stored."""

    def __init__(self, refused: str = "") -> None:
        self.items: list[object] = []
        self._refused = refused

    def __call__(self, items: Sequence[Item]) -> Sequence[Reason | None]:
        self.items += [item.get("messageId") for item in items]
        return [StoreUnavailable("not now") if item.get("messageId") == self._refused else None for item in items]


def check(items: Sequence[Item]) -> Sequence[Reason | None]:
    """Does not let the row with the id ``m-1`` be stored, and marks the others."""
    for item in items:
        item["checked"] = True
    return [StoreUnavailable("no") if item["messageId"] == "m-1" else None for item in items]


def lanes_with(after: Hooks, before: Hooks = ()) -> WritePath:
    write_path = WritePath()
    tables = {"chat": TABLE, "probe": TABLE}
    write_path.persister = Persister(RowWriter(write_path.store, tables, after, before), write_path.retry, CLOCK)
    write_path.acceptor.accept(CHAT, caller(), [message(messageId="m-1"), message(messageId="m-2")], "c", Meter())
    return write_path


def test_hooks_get_every_stored_row_and_no_other() -> None:
    hook = Follower()
    write_path = lanes_with([(MESSAGE, hook)])
    write_path.store.throttled = lambda item: item["messageId"] == "m-2"

    write_path.persist(*write_path.broker.bodies())

    assert hook.items == ["m-1"]


def test_an_event_whose_hook_failed_is_stored_and_goes_to_the_retry_lane() -> None:
    first, second = Follower(refused="m-2"), Follower()
    write_path = lanes_with([(MESSAGE, first), (MESSAGE, second)])

    write_path.persist(*write_path.broker.bodies())

    assert len(write_path.rows()) == 2
    assert [event["messageId"] for event in write_path.retried()] == ["m-2"]
    assert second.items == ["m-1"]


def test_a_row_that_a_hook_refuses_before_the_write_is_not_stored_and_the_others_are() -> None:
    after = Follower()
    write_path = lanes_with([(MESSAGE, after)], [(MESSAGE, check)])

    write_path.persist(*write_path.broker.bodies())

    assert [(row["messageId"], row["checked"]) for row in write_path.rows()] == [("m-2", True)]
    assert after.items == ["m-2"]
    assert [event["messageId"] for event in write_path.retried()] == ["m-1"]
