"""Signals are pushed to those who may read them, cost live copies nothing, and are lost without a mark."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.live.push_service import FIRST_REST, SIGNAL_SECONDS, TOLERATED
from headrace.live.signals import parse, to_copy
from tests.worlds.push_world import PushWorld, item
from tests.worlds.senders import NOW

LATER = "2025-11-21T11:00:00.000000Z"


def signal(name: str = "typing", data: str = "", *, room: str = "kitchen", connection: str = "c-0") -> bytes:
    frame = {"type": "signal", "roomId": room, "userId": "alice", "name": name, "data": data, "timestamp": NOW}
    return to_copy(connection, frame)


def push(world: PushWorld, *bodies: bytes) -> None:
    records = [{"data": base64.b64encode(body).decode()} for body in bodies]
    world.pusher.push({"eventSource": "aws:rmq", "rmqMessagesByQueue": {"live.signals::/": records}})


def got(world: PushWorld, connection: str) -> list[tuple[str, str]]:
    frames: list[dict[str, Any]] = [json.loads(frame) for frame in world.api.sent[connection]]
    return [(frame["name"], frame["data"]) for frame in frames]


@pytest.fixture
def world() -> PushWorld:
    return PushWorld()


def test_the_other_subscribers_of_the_room_get_a_signal(world: PushWorld) -> None:
    """The connection that sent it does not, and sees nothing of the connection id."""
    world.listen("c-0", "c-1", "c-2")
    world.listen("c-3", room="hall")

    push(world, signal())

    assert {each: got(world, each) for each in ("c-0", "c-1", "c-2", "c-3")} == {
        "c-0": [],
        "c-1": [("typing", "")],
        "c-2": [("typing", "")],
        "c-3": [],
    }
    assert b"c-0" not in world.api.sent["c-1"][0]


def test_of_a_connections_signals_with_one_name_the_latest_is_pushed(world: PushWorld) -> None:
    world.listen("c-1")

    push(world, signal("cursor", "1"), signal(), signal("cursor", "2"), signal("cursor", "3", connection="c-9"))

    assert got(world, "c-1") == [("typing", ""), ("cursor", "2"), ("cursor", "3")]


def test_a_subscriber_who_joined_after_a_signal_does_not_get_it(world: PushWorld) -> None:
    world.listen("c-1", since=LATER)
    world.listen("c-2", since=NOW)

    push(world, signal())

    assert (got(world, "c-1"), got(world, "c-2")) == ([], [("typing", "")])


@pytest.mark.parametrize("result", ["late", "refused", "unsent"])
def test_a_lost_signal_leaves_no_mark_in_the_next_messages(world: PushWorld, result: Any) -> None:
    world.listen("c-1")
    world.api.results["c-1"] = result
    push(world, signal())
    world.api.results.clear()

    world.push(item("hello"))

    assert world.got("c-1") == [["hello"]]


def test_a_connection_that_is_late_rests_and_gets_later_signals(world: PushWorld) -> None:
    world.listen("c-1")
    world.api.results["c-1"] = "late"
    for _ in range(TOLERATED + 1):
        push(world, signal())
    world.api.results.clear()

    push(world, signal("resting"))
    world.clock.advance(FIRST_REST + 1)
    push(world, signal("rested"))

    assert got(world, "c-1") == [("rested", "")]


def test_rooms_with_few_listeners_come_first_and_a_batch_has_little_time(
    world: PushWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.listen(*(f"big-{number}" for number in range(9)), room="big")
    world.listen("small-1", room="small")
    given: list[float] = []
    deliver = world.api.deliver
    monkeypatch.setattr(world.api, "deliver", lambda sends, seconds: given.append(seconds) or deliver(sends, seconds))

    push(world, signal(room="big"), signal(room="small"))

    assert world.api.asked[0] == "small-1"
    assert SIGNAL_SECONDS in given


def test_a_room_that_cannot_be_read_costs_only_its_signals(world: PushWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.listen("c-1")
    read = world.connections.subscriptions

    def fail(room: str, mark: str = "") -> Any:
        if room == "hall":
            raise StoreUnavailable("throttled")
        return read(room, mark)

    monkeypatch.setattr(world.connections, "subscriptions", fail)

    push(world, signal(room="hall"), signal())

    assert got(world, "c-1") == [("typing", "")]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"7", b'{"frame": []}', b'{"connectionId": "c", "frame": {"roomId": 7}}', b"[" * 100_000],
)
def test_what_is_no_signal_is_counted_and_costs_no_other(
    world: PushWorld, body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    world.listen("c-1")

    push(world, body, signal())

    assert got(world, "c-1") == [("typing", "")]
    assert "LiveUnreadable" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"not a signal|Expecting"):
        parse(body)


def test_pushes_of_signals_are_counted_by_their_results(world: PushWorld, capsys: pytest.CaptureFixture[str]) -> None:
    world.listen("c-1", "c-2")
    world.api.results["c-1"] = "late"

    push(world, signal())

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "SignalsPushed" in line]
    assert {line["verdict"]: line["SignalsPushed"] for line in lines} == {"late": [1], "sent": [1]}
