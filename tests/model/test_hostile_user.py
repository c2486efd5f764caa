"""A hostile user with an ordinary token: whatever it does, others live in a world without it.

The same random requests of honest users go to two stages in memory. In one of them, mallory acts in between: makes
rooms, adds and removes everybody, sends, reads, subscribes, opens direct rooms, blocks. Afterwards all that honest
users see must be equal: pages, conversations, counts, memberships and live messages. Left out are the rooms that
mallory made, which only users see who went there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.keys import direct_room
from headrace.core.times import iso
from headrace.features.invitations.consent import Invitations
from tests.model.running import ASKED, settings_of
from tests.worlds.chat_world import LONG, ChatWorld
from tests.worlds.room_world import DIRECT, GROUP, OPEN

EXAMPLES = 300
HONEST = ("alice", "bob", "carol")
ROOMS = ("den", "club")
TRAPS = ("!trap", "~trap")
WITH_MALLORY = {direct_room("mallory", each) for each in HONEST} | set(TRAPS)
SHARED = "!trap"
"""The only one of these rooms that honest users go to."""

users, rooms, traps = st.sampled_from(HONEST), st.sampled_from(ROOMS), st.sampled_from(TRAPS)
anywhere = st.sampled_from([*ROOMS, *TRAPS])
pauses = st.sampled_from([0.0, 0.001, 1.0, LONG])
roles = st.sampled_from([None, {"role": "owner"}])


def action(name: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(st.just(name), *parts)


honest = st.one_of(
    action("create", users, rooms),
    action("put", users, rooms, users, roles),
    action("remove", users, rooms, users),
    action("leave for good", users, rooms),
    action("direct", users, users),
    action("say", users, rooms),
    action("mark", users, rooms),
    action("follow", users, rooms),
    action("block", users, users),
    action("wait", pauses),
)
hostile = st.one_of(
    action("create", st.just("mallory"), traps, st.sampled_from([GROUP, DIRECT, OPEN])),
    action("put", st.just("mallory"), anywhere, st.sampled_from([*HONEST, "mallory"]), roles),
    action("put", st.just("mallory"), traps, users, roles),
    action("remove", st.just("mallory"), anywhere, st.sampled_from([*HONEST, "mallory"])),
    action("remove", st.just("mallory"), traps, users),
    action("direct", st.just("mallory"), users),
    action("say", st.just("mallory"), anywhere),
    action("forge", st.just("mallory"), anywhere, users),
    action("rename", st.just("mallory"), anywhere),
    action("mark", st.just("mallory"), anywhere),
    action("follow", st.just("mallory"), anywhere),
    action("block", st.just("mallory"), users),
    # What honest users do about mallory: they may go to one of the traps.
    action("put", users, st.just(SHARED), st.none(), st.none()),
    action("remove", users, st.just(SHARED), st.none()),
    action("block", users, st.just("mallory")),
)


class Stage(ChatWorld):
    """A stage, where alice and bob have a room; and what each action does there. An action may be refused."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.request("alice", "PUT", ROOMS[0], GROUP)
        self.bring("alice", ROOMS[0], "bob")
        self.settle()

    def act(self, number: int, name: str, *parts: Any) -> None:
        """Do an action, and store and push what follows from it."""
        self.number = number
        getattr(self, name.replace(" ", "_"))(*parts)
        self.settle()

    def create(self, user: str, room: str, kind: dict[str, str] = GROUP) -> None:
        self.request(user, "PUT", room, kind)

    def put(self, user: str, room: str, other: str | None, role: Any) -> None:
        self.request(user, "PUT", f"{room}/members/{other or user}", role)

    def remove(self, user: str, room: str, other: str | None) -> None:
        self.request(user, "DELETE", f"{room}/members/{other or user}")

    def leave_for_good(self, user: str, room: str) -> None:
        self.request(user, "DELETE", f"{room}/members/{user}", {"forGood": True})

    def direct(self, user: str, other: str) -> None:
        self.request(user, "PUT", f"{user}/direct/{other}")

    def say(self, user: str, room: str) -> None:
        if room in self.rooms.rows:
            self.send(user, room, f"m{self.number}")

    def forge(self, user: str, room: str, other: str) -> None:
        for more in ({"userId": other}, {"messageType": "JOIN"}, {"memberId": other}):
            assert self.send(user, room, f"m{self.number}", **more) in (400, 403)

    def rename(self, user: str, room: str) -> None:
        self.request(user, "PATCH", room, {"name": "mine"})

    def mark(self, user: str, room: str) -> None:
        self.request(user, "PUT", f"{room}/read", {"upTo": iso(self.clock.now())})

    def follow(self, user: str, room: str) -> None:
        self.subscribe(user, room, f"c-{user}-{room}")

    def block(self, user: str, other: str) -> None:
        self.request(user, "PUT", f"{user}/blocked/{other}")

    def seen(self) -> dict[str, Any]:
        """All that honest users see, without the rooms that mallory made."""
        found: dict[str, Any] = {}
        for user in HONEST:
            found[f"conversations of {user}"] = by_second(kept(self.rooms_of(user)))
            _, invitations = self.request(user, "GET", f"{user}/invitations")
            found[f"invitations of {user}"] = kept(invitations["items"])
            for room in ROOMS:
                found[f"{room} read by {user}"] = self.read_room(user, room)
                found[f"{room} of {user}"] = self.request(user, "GET", room)
                found[f"members of {room} for {user}"] = self.request(user, "GET", f"{room}/members")[1].get("items")
                found[f"membership of {user} in {room}"] = self.row(user, room)
                found[f"live {room} for {user}"] = self.pushed(f"c-{user}-{room}")
            for other in HONEST:
                history = self.read_user(user, other)
                found[f"history of {other} read by {user}"] = kept(history) if isinstance(history, list) else []
        return found


def kept(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if item["roomId"] not in WITH_MALLORY]


def by_second(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Conversations by the second of their activity, which is as exact as it is, and then by id."""
    cut = [{**item, "activityAt": item["activityAt"][:19]} for item in items]
    return sorted(cut, key=lambda item: (item["activityAt"], item["roomId"]))


def live(requests: Sequence[tuple[bool, tuple[Any, ...]]]) -> tuple[Stage, Stage]:
    """The stage with mallory, and the one without."""
    with_mallory, without = Stage(), Stage()
    with_mallory.create("mallory", "~trap")
    for number, (is_hostile, what) in enumerate(requests):
        for stage in [with_mallory] if is_hostile else [with_mallory, without]:
            stage.act(number, *what)
    return with_mallory, without


def check(requests: Sequence[tuple[bool, tuple[Any, ...]]]) -> None:
    with_mallory, without = live(requests)
    expected = without.seen()

    assert with_mallory.seen() == expected
    went = {what[1] for is_hostile, what in requests if is_hostile and what[0] == "put" and what[1] in HONEST}
    for row in with_mallory.write_path.rows():
        room, user = row["roomId"], row["userId"]
        assert user != "mallory" or room in WITH_MALLORY
        assert user == "mallory" or room not in WITH_MALLORY or (room == SHARED and user in went)
    for user in set(HONEST) - went:
        assert by_second(with_mallory.rooms_of(user)) == expected[f"conversations of {user}"]


requests = st.lists(
    st.one_of(st.tuples(st.just(False), honest), st.tuples(st.just(True), hostile)), min_size=5, max_size=40
)


@pytest.mark.timeout(0 if ASKED else 120)
@settings_of(ASKED or EXAMPLES, derandomize=not ASKED)
@given(requests)
def test_p12_others_live_in_a_world_without_a_hostile_user(
    requests: list[tuple[bool, tuple[Any, ...]]],
) -> None:
    check(requests)


ADDED = [
    (True, ("create", "mallory", SHARED)),
    (True, ("put", "mallory", SHARED, "alice", None)),
    (True, ("put", "alice", SHARED, None, None)),
    (True, ("put", "mallory", "~trap", "alice", None)),
    (True, ("put", "mallory", "~trap", "bob", None)),
]
"""mallory adds alice, who is in another room with them, and invites bob."""


def test_adding_and_inviting_changes_nothing() -> None:
    check(ADDED)


def test_it_finds_that_strangers_add_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Invitations, "is_needed", lambda *_: False)

    with pytest.raises(AssertionError):
        check(ADDED)
