"""Hooks see the rows before and after they are stored, and their failures send events to the retry lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from headrace.core.envelope import Envelope
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import AfterStore, BeforeStore, Stream
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter, StreamHooks
from headrace.runtime.observability import Meter
from headrace.storage.ports import Failure
from headrace.streams.chat.stream import CHAT
from headrace.streams.probe import probe
from tests.worlds.senders import CLOCK, TABLE, caller, message
from tests.worlds.write_path import WritePath


class Hook:
    """Fails after the row with the id ``refused`` is stored."""

    def __init__(self, refused: str = "") -> None:
        self.items: list[str] = []
        self._refused = refused

    def after_store(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        self.items += [f"{stream.name} {item.get('messageId')}" for item in items]
        return [StoreUnavailable("not now") if item.get("messageId") == self._refused else None for item in items]


class Check:
    """Does not let the row with the id ``m-1`` be stored, and marks the others."""

    def before_store(self, items: Sequence[Item]) -> tuple[Sequence[Item], Mapping[int, Failure]]:
        for item in items:
            item["checked"] = True
        allowed = [item for item in items if item["messageId"] != "m-1"]
        refused = {at: StoreUnavailable("no") for at, item in enumerate(items) if item["messageId"] == "m-1"}
        return allowed, refused


def lanes_with(*after: AfterStore, before: Mapping[str, BeforeStore] = MappingProxyType({})) -> WritePath:
    write_path = WritePath()
    tables = {"chat": TABLE, "probe": TABLE}
    write_path.persister = Persister(RowWriter(write_path.store, tables, after, before), write_path.retry, CLOCK)
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


def test_a_row_that_a_hook_refuses_before_the_write_is_not_stored_and_the_others_are() -> None:
    after = Hook()
    write_path = lanes_with(after, before={"chat": Check()})

    write_path.persist(*write_path.broker.bodies())

    assert [(row["messageId"], row["checked"]) for row in write_path.rows()] == [("m-2", True)]
    assert after.items == ["chat m-2"]
    assert [event["messageId"] for event in write_path.retried()] == ["m-1"]


def test_a_hook_of_a_stream_sees_no_rows_of_other_streams() -> None:
    chats, probes = Hook(), Hook()
    write_path = lanes_with(StreamHooks({"chat": lambda: chats, "probe": lambda: probes}), before={"chat": Check()})
    minute = "2025-11-21T10:00:00.000000Z"

    write_path.persist(
        *write_path.broker.bodies(), Envelope("probe", "c", minute, [probe("persist.chat.0", minute)]).encode()
    )

    assert (chats.items, probes.items) == (["chat m-2"], ["probe None"])
    assert {row.get("messageId"): row.get("checked") for row in write_path.rows()} == {"m-2": True, None: None}
