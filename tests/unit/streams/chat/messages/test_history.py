"""Pages of the history of rooms and users."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.paging.request import PageRequest
from headrace.api.params import read
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.errors import InvalidCursor, InvalidRequest, NotFound
from headrace.streams.chat.messages.positions import OVERLAP, position
from headrace.streams.chat.rooms.memberships import Change
from headrace.streams.chat.rooms.rooms import RoomAccess
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


def test_a_room_without_messages_is_an_empty_page() -> None:
    page = body(history([]).room(ALICE, "lobby", PageRequest()))

    assert (page["items"], page["next"], page["hasMore"]) == ([], None, False)
    assert page["position"] == position(START)


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


def test_a_cursor_of_messages_since_a_position_continues_them() -> None:
    """The position is in the cursor, too."""
    pages = history([row(second, f"m{second}") for second in range(5)])
    since = START + 2 * times.SECOND + OVERLAP
    first = body(pages.room(ALICE, "lobby", PageRequest(limit=1), since))

    rest = body(pages.room(ALICE, "lobby", PageRequest(cursor=first["next"])))

    assert rest == body(pages.room(ALICE, "lobby", PageRequest(before=first["next"]), since))
    assert ids(first) + ids(rest) == ["m4", "m3", "m2"]


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


@pytest.mark.parametrize("place", [{}, {"before": f"{START_AT}#m"}, {"from": START_AT}, {"around": f"{START_AT}#m"}])
def test_a_room_that_does_not_exist_is_not_found(place: dict[str, str]) -> None:
    pages = history([], access=RoomAccess(MemoryRooms(), MemoryMemberships()))

    with pytest.raises(NotFound):
        pages.room(ALICE, "nowhere", PageRequest.model_validate(place))


def test_another_user_without_a_message_or_a_membership_is_not_found() -> None:
    memberships = MemoryMemberships()
    memberships.add(Change(user_id="carol", room_id="den", kind="join", event=f"{START_AT}#j"))
    pages = history([row(1, "m1", user="bob", room="den")], access=RoomAccess(MemoryRooms(), memberships))

    for user in ("alice", "bob", "carol"):
        pages.user(ALICE, user, PageRequest())
    with pytest.raises(NotFound):
        pages.user(ALICE, "dave", PageRequest())


def test_only_an_empty_page_of_another_user_asks_whether_the_user_exists() -> None:
    memberships = MemoryMemberships()
    pages = history([row(1, "m1")], access=RoomAccess(MemoryRooms(), memberships))

    body(pages.user(ALICE, "alice", PageRequest()))
    body(pages.room(ALICE, "lobby", PageRequest()))
    assert memberships.reads == 0


def test_p12_a_cursor_of_another_room_user_or_direction_is_refused() -> None:
    pages = history([row(n, f"m{n}", room=room) for n in range(4) for room in ("lobby", "other")])
    cursor = body(pages.room(ALICE, "lobby", PageRequest(limit=1)))["next"]
    bob = Caller("bob", "Bob", ALICE.scopes, ALICE.expires_at)

    for caller, room, request in (
        (ALICE, "other", PageRequest(before=cursor)),
        (bob, "lobby", PageRequest(before=cursor)),
        (ALICE, "lobby", PageRequest(after=cursor)),
        (ALICE, "lobby", PageRequest(before=cursor, end="2025-11-21T10:00:02.000000Z")),
    ):
        with pytest.raises(InvalidCursor):
            body(pages.room(caller, room, request))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "10000"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": "٣"}, "limit"),
        ({"limit": "9" * 5000}, "limit"),
        ({"from": "yesterday"}, "from"),
        ({"to": "2025-11-21T10:00:00"}, "to"),
        ({"from": "2025-11-22T00:00:00Z", "to": "2025-11-21T00:00:00Z"}, "to"),
        ({"before": "a", "after": "b"}, "after"),
        ({"form": "2025-11-22T00:00:00Z"}, "form"),
    ],
)
def test_an_invalid_query_names_the_parameter_and_what_is_allowed(query: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        read(PageRequest, query)

    detail = refusal.value.details[0]
    assert detail.field == field
    assert detail.allowed


def test_a_plus_that_a_url_has_as_a_space_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        read(PageRequest, {"from": "2025-11-21T10:00:00 01:00"})

    assert "in a URL, + is %2B" in str(refusal.value.details[0].allowed)


def test_epoch_milliseconds_are_times_in_a_query_too() -> None:
    request = read(PageRequest, {"from": "1763719258722", "limit": "200"})

    assert request == PageRequest(limit=200, start="2025-11-21T10:00:58.722000Z")
