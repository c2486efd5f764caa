"""A page may start at a cursor or a message key, or contain the messages around one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.paging.request import PageRequest
from headrace.api.params import read
from headrace.core import keys
from headrace.core.caller import Caller
from headrace.core.errors import InvalidCursor, InvalidRequest
from headrace.core.json import encode_object
from tests.worlds.history_world import ALICE, Rights, at, body, history, ids, row

TEN = [row(n, f"m{n}") for n in range(10)]


def page(rows: list[dict[str, Any]], access: Rights | None = None, **request: Any) -> dict[str, Any]:
    return body(history(rows, access=access).room(ALICE, "lobby", PageRequest(**request)))


def test_a_page_may_start_at_a_time_and_an_id() -> None:
    assert ids(page(TEN, before=f"{at(5)}#m5", limit=2)) == ["m4", "m3"]
    assert ids(page(TEN, after="2025-11-21T11:00:05+01:00#m5", limit=2)) == ["m7", "m6"]
    assert ids(page(TEN, after=f"{at(5)}#cafe\u0301", limit=1)) == ids(page(TEN, after=f"{at(5)}#caf\u00e9", limit=1))


def test_around_a_key_in_a_users_history_is_the_message_with_that_key() -> None:
    rows = [*TEN, *(row(5, "m5", room="den", tag=keys.sender_tag(user)) for user in ("bob", "carl", "mallory"))]
    pages = history(rows)
    everything = body(pages.user(ALICE, "alice", PageRequest(limit=20)))["items"]

    for key in (item["key"] for item in everything):
        (found,) = body(pages.user(ALICE, "alice", PageRequest(around=key, limit=1)))["items"]

        assert found["key"] == key


def test_a_page_around_a_cursor_contains_the_cursors_message() -> None:
    pages = history(TEN)
    first = body(pages.room(ALICE, "lobby", PageRequest(limit=3)))

    by_next = body(pages.room(ALICE, "lobby", PageRequest(around=first["next"], limit=3)))
    by_previous = body(pages.room(ALICE, "lobby", PageRequest(around=first["previous"], limit=3)))

    assert ids(by_next) == ["m8", "m7", "m6"]
    assert ids(by_previous) == ["m9", "m8", "m7"]


def test_nothing_is_older_than_the_page_after_an_empty_room() -> None:
    pages = history([])
    empty = body(pages.room(ALICE, "lobby", PageRequest()))

    assert body(pages.room(ALICE, "lobby", PageRequest(after=empty["previous"])))["next"] is None


def test_a_page_of_a_users_history_may_start_at_a_key() -> None:
    rows = [row(n, f"m{n}", room=f"room-{n % 3}") for n in range(6)]
    pages = history(rows)
    key = body(pages.user(ALICE, "alice", PageRequest()))["items"][2]["key"]

    assert ids(body(pages.user(ALICE, "alice", PageRequest(before=key)))) == ["m2", "m1", "m0"]
    assert ids(body(pages.user(ALICE, "alice", PageRequest(after=f"{at(3)}#m3")))) == ["m5", "m4"]
    assert ids(body(pages.user(ALICE, "alice", PageRequest(around=key, limit=3)))) == ["m4", "m3", "m2"]


@pytest.mark.parametrize("field", ["before", "after", "around"])
@pytest.mark.parametrize("key", ["#", "x#y", "2025-11-21T10:00:00Z#", "2025-11-21T10:00:00Z#a#b", "1#2#3#4", "#m1"])
def test_a_key_that_names_no_message_is_refused_with_its_field(field: str, key: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        page(TEN, **{field: key})

    (detail,) = refusal.value.details
    assert (detail.field, detail.got) == (field, key)
    assert "timestamp#messageId" in str(detail.allowed)


@pytest.mark.parametrize(
    ("places", "named"),
    [
        (("before", "after"), ["after"]),
        (("before", "around"), ["around"]),
        (("after", "around"), ["around"]),
        (("before", "after", "around"), ["after", "around"]),
    ],
)
def test_of_two_start_positions_the_second_is_refused(places: tuple[str, ...], named: list[str]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        read(PageRequest, dict.fromkeys(places, "x"))

    assert [detail.field for detail in refusal.value.details] == named


def test_p12_around_refuses_a_cursor_of_another_room_user_or_query() -> None:
    cursor = page(TEN, limit=1)["next"]
    bob = Caller("bob", "Bob", ALICE.scopes, ALICE.expires_at)
    pages = history(TEN)

    for caller, room, request in (
        (ALICE, "other", PageRequest(around=cursor)),
        (bob, "lobby", PageRequest(around=cursor)),
        (ALICE, "lobby", PageRequest(around=cursor, start=at(1))),
        (ALICE, "lobby", PageRequest(around=cursor[:-2])),
    ):
        with pytest.raises(InvalidCursor) as refusal:
            body(pages.room(caller, room, request))
        assert refusal.value.details[0].field == "around"


def test_a_frames_numbers_are_taken_as_a_query_strings_digits() -> None:
    assert read(PageRequest, {"limit": 50, "from": 1763719258722, "before": None}) == PageRequest(
        limit=50, start="2025-11-21T10:00:58.722000Z"
    )


def test_a_page_is_cut_at_its_size_limit_with_has_more() -> None:
    rows = [row(n, f"m{n}", message="\u0000" * 1000) for n in range(10)]
    pages = history(rows)
    seen: list[list[str]] = []
    cursor: str | None = None
    for _ in range(10):
        found = body(pages.room(ALICE, "lobby", PageRequest(before=cursor, max_bytes=20_000)))
        seen.append(ids(found))
        cursor = found["next"]
        if not found["hasMore"]:
            break

    assert [message for found in seen for message in found] == [f"m{n}" for n in range(9, -1, -1)]
    assert [len(found) for found in seen] == [3, 3, 3, 1]
    assert len(ids(body(pages.room(ALICE, "lobby", PageRequest(after=f"{at(0)}#m0", max_bytes=1))))) == 1
    assert len(ids(body(pages.room(ALICE, "lobby", PageRequest(around=f"{at(5)}#m5", max_bytes=1))))) == 2


@pytest.mark.parametrize("character", ["\u0000", '"', "\\", "я", "\U0001f600", "\u2028"])
def test_the_longest_page_of_the_longest_texts_fits_into_an_answer_of_6_mb(character: str) -> None:
    longest = character * (4096 // len(character.encode()))
    wide = ("\U0001f600" if character == "\u0000" else character) * 128
    rows = [row(n, f"{n:03d}" + wide[3:], room=wide, user=wide, message=longest, username=wide) for n in range(201)]

    text = encode_object(history(rows).room(ALICE, wide, PageRequest(limit=200)).to_body())

    for ensure_ascii in (True, False):
        assert len(json.dumps({"statusCode": 200, "body": text}, ensure_ascii=ensure_ascii).encode()) < 6 * 1024 * 1024
