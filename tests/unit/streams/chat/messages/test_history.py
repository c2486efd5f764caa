"""Pages of the history of rooms and users."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.paging.request import PageRequest
from headrace.api.params import read
from headrace.core import times
from headrace.core.errors import InvalidRequest, NotFound
from headrace.streams.chat.messages.positions import OVERLAP
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.memberships import Change
from tests.fakes.chat import MemoryMemberships, MemoryRooms
from tests.worlds.history_world import ALICE, START, TAG, at, body, history, ids, row

START_AT = times.iso(START)


def test_an_item_has_the_message_and_its_key() -> None:
    page = body(history([row(1, "m1")]).room(ALICE, "lobby", PageRequest()))

    assert page["items"] == [
        {
            "key": f"2025-11-21T10:00:01.000000Z#m1#{TAG}",
            "roomId": "lobby",
            "messageId": "m1",
            "timestamp": "2025-11-21T10:00:01.000000Z",
            "userId": "alice",
            "username": "Alice",
            "message": "text of m1",
            "messageType": "TEXT",
        }
    ]


@pytest.mark.parametrize("bounds", [{}, {"start": "2025-11-21T09:00:00.000000Z", "end": "2025-11-22T09:00:00.000000Z"}])
def test_previous_of_an_empty_room_leads_to_its_first_messages(bounds: dict[str, str]) -> None:
    """A poller needs no special case for the first message."""
    rows: list[dict[str, Any]] = []
    pages = history(rows)
    cursor = body(pages.room(ALICE, "lobby", PageRequest(**bounds)))["previous"]
    assert ids(body(pages.room(ALICE, "lobby", PageRequest(cursor=cursor)))) == []
    rows += [row(1, "m1"), row(2, "m2")]

    page = body(pages.room(ALICE, "lobby", PageRequest(cursor=cursor, limit=1)))

    assert ids(page) == ["m1"]
    assert ids(body(pages.room(ALICE, "lobby", PageRequest(cursor=page["previous"])))) == ["m2"]


@given(
    seconds=st.lists(st.integers(0, 5), max_size=12),
    limit=st.integers(1, 4),
    start=st.integers(0, 3),
    end=st.integers(3, 6),
)
def test_p7_a_cursor_alone_continues_its_query_in_both_directions(
    seconds: list[int], limit: int, start: int, end: int
) -> None:
    """``from``, ``to`` and the direction are in the cursor. Fault 13: a limit without a cursor."""
    pages = history([row(second, f"m{number:02d}") for number, second in enumerate(seconds)])
    bounds = {"start": at(start), "end": at(end)}
    expected = ids(body(pages.room(ALICE, "lobby", PageRequest(limit=200, **bounds))))

    page = body(pages.room(ALICE, "lobby", PageRequest(limit=limit, **bounds)))
    back = ids(page)
    while page["next"]:
        page = body(pages.room(ALICE, "lobby", PageRequest(limit=limit, cursor=page["next"])))
        back += ids(page)
    forth = ids(page)
    page = body(pages.room(ALICE, "lobby", PageRequest(limit=limit, cursor=page["previous"])))
    while page["items"]:
        forth = ids(page) + forth
        page = body(pages.room(ALICE, "lobby", PageRequest(limit=limit, cursor=page["previous"])))

    assert back == forth == expected


@pytest.mark.parametrize(("position", "expected"), [(START + OVERLAP, ["m2", "m1"]), (START + times.HOUR, [])])
def test_pages_since_a_position_lead_to_no_newer_page(position: int, expected: list[str]) -> None:
    """A position of the future has an empty page."""
    page = body(history([row(1, "m1"), row(2, "m2")]).room(ALICE, "lobby", PageRequest(), position))

    assert (ids(page), page["previous"], page["hasMore"]) == (expected, None, False)


@pytest.mark.parametrize("name", ["before", "after", "around", "from", "to"])
def test_a_cursor_stands_alone(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(PageRequest, {"cursor": "x", name: "2025-11-21T10:00:01.000000Z"})

    (detail,) = caught.value.details
    assert (detail.field, detail.message) == ("cursor", f"cannot be combined with {name}")


def test_another_user_without_a_message_or_a_membership_is_not_found() -> None:
    memberships = MemoryMemberships()
    memberships.add(Change(user_id="carol", room_id="den", kind="join", event=f"{START_AT}#j"))
    pages = history([row(1, "m1", user="bob", room="den")], access=RoomAccess(MemoryRooms(), memberships))

    for user in ("alice", "bob", "carol"):
        pages.user(ALICE, user, PageRequest())
    with pytest.raises(NotFound):
        pages.user(ALICE, "dave", PageRequest())


def test_a_time_before_the_first_one_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        read(PageRequest, {"from": "2025-11-22T00:00:00Z", "to": "2025-11-21T00:00:00Z"})

    detail = refusal.value.details[0]
    assert (detail.field, bool(detail.allowed)) == ("to", True)


def test_a_plus_that_a_url_has_as_a_space_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        read(PageRequest, {"from": "2025-11-21T10:00:00 01:00"})

    assert "in a URL, + is %2B" in str(refusal.value.details[0].allowed)
