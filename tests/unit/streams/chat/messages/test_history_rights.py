"""P12: which messages of a room, and of a user, a caller may read."""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.request import PageRequest
from headrace.core.times import SECOND
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.memberships import Change
from headrace.streams.chat.rooms.room_filter import ROOMS_PER_PAGE
from headrace.streams.chat.rooms.rooms import Room
from tests.fakes.chat import MemoryMemberships, MemoryRooms
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryReader
from tests.worlds.history_world import ALICE, START, Rights, at, body, history, ids, interval, row

NOW = START // SECOND


def counting(rows: list[dict[str, Any]], access: Rights) -> tuple[History, MemoryReader]:
    reader = MemoryReader(lambda _: rows)
    return History(reader, CursorSigner(b"k" * 32), "messages", FixedClock(START), access), reader


def test_a_full_page_reads_only_the_intervals_it_needs() -> None:
    rows = [row(n, f"m{n:03d}") for n in range(100)]
    pages, reader = counting(rows, Rights(lobby=tuple(interval(n, n + 5) for n in range(0, 100, 10))))

    page = body(pages.room(ALICE, "lobby", PageRequest(limit=3)))

    assert ids(page) == ["m094", "m093", "m092"]
    assert len(reader.queries) == 1


def test_has_more_is_exact_despite_thousands_of_expired_messages() -> None:
    kept = [row(0, "kept", expiresAt=NOW + 1)]
    expired = [row(1 + n / 1000, f"old{n}", expiresAt=NOW) for n in range(6_000)]
    newest = [row(90, "new1"), row(91, "new2")]

    for rows, has_more in ((kept + expired + newest, True), (expired + newest, False)):
        pages, reader = counting(rows, Rights())
        page = body(pages.room(ALICE, "lobby", PageRequest(limit=2)))

        assert (ids(page), page["hasMore"]) == (["new2", "new1"], has_more)
        assert reader.rounds < 12


def test_p12_a_page_of_another_users_messages_does_bounded_work() -> None:
    """``hasMore`` is true, and the following pages contain all other messages."""
    secret = [row(1 + n / 1000, f"s{n}", room="secret", user="bob") for n in range(4_000)]
    rows = [row(0, "first", user="bob"), *secret, row(90, "last", user="bob")]
    pages, reader = counting(rows, Rights(secret=None))
    seen: list[str] = []
    cursor: str | None = None
    lengths = []
    for _ in range(20):
        before = reader.given
        page = body(pages.user(ALICE, "bob", PageRequest(before=cursor)))
        lengths.append(reader.given - before)
        seen += ids(page)
        cursor = page["next"]
        if not page["hasMore"]:
            break

    assert seen == ["last", "first"]
    assert len(lengths) > 1
    assert max(lengths) < 3_000


def test_a_page_of_another_users_messages_checks_a_bounded_number_of_rooms() -> None:
    rooms = {f"room-{n:03d}": None for n in range(130)}
    rights = Rights(**rooms)
    rows = [row(n / 1000, f"m{n}", room=room, user="bob") for n, room in enumerate(rooms)]
    rows.append(row(-1, "open one", user="bob"))
    pages = history(rows, access=rights)
    cursor, asked, found = None, [], []
    while True:
        rights.asked.clear()
        page = body(pages.user(ALICE, "bob", PageRequest(before=cursor)))
        asked.append(len(rights.asked))
        found += ids(page)
        cursor = page["next"]
        if not page["hasMore"]:
            break

    assert found == ["open one"]
    assert max(asked) == ROOMS_PER_PAGE


def test_read_scopes_of_several_rooms_cost_two_reads() -> None:
    rooms, memberships = MemoryRooms(), MemoryMemberships()
    access = RoomAccess(rooms, memberships)
    for name, kind in (("hall", "open"), ("club", "members"), ("secret", "members")):
        rooms.create(Room(name, kind, "group", at(0), "bob"))
    memberships.add(Change(user_id="alice", room_id="club", kind="join", event=f"{at(1)}#j"))
    names = ["club", "hall", "secret", "unknown"]
    before = rooms.reads + memberships.reads

    together = access.read_scopes(ALICE, names)

    assert rooms.reads + memberships.reads == before + 2
    assert [name for name, scope in together.items() if scope is None] == ["secret"]
    assert [name for name, scope in together.items() if scope and scope.intervals] == ["club"]
