"""The model of who may read a room, beside the product: requests at the same time, some of them interrupted.

carol made the room, mallory owns it, and puppet is mallory's other account. Groups of up to three requests run at once:
before each call of a store, a schedule picks the request that goes on, and any request may end there. After a group, a
message is said. What the users may read then must follow from the same requests one after the other, in some order, as
a small model of the rules has it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from headrace.core.errors import HeadraceError, StoreUnavailable
from headrace.core.times import iso
from headrace.features.invitations import consent
from headrace.streams.chat.rooms.access import RoomAccess, effective_role
from tests.fakes.clock import FixedClock
from tests.worlds.room_world import GROUP, OLD, TRUSTED, caller
from tests.worlds.whole_room_world import WholeRoomWorld

USERS = ("carol", "mallory", "puppet", "bob")
GUESTS = USERS[1:]
SKEWS = (0.0, -0.5, 0.5)
"""Seconds by which the clocks of the environments differ."""

What = tuple[str, str, str, str | None]
"""An action, the user who does it, the user about whom it is, and a role."""


@dataclass(frozen=True)
class Asked:
    """A request, the clock of its environment, and the store call before which it ends."""

    what: What
    skew: float = 0.0
    cut: int | None = None


@dataclass(frozen=True)
class State:
    """What the rules know. ``read``: which messages each user may read, by their numbers."""

    inside: frozenset[tuple[str, str]]
    invited: frozenset[tuple[str, str, str, int]] = frozenset()
    blocks: frozenset[tuple[str, str]] = frozenset()
    read: frozenset[tuple[str, int]] = frozenset()

    def role(self, user: str) -> str | None:
        return dict(self.inside).get(user)

    def owns(self, user: str) -> bool:
        return user == "carol" or self.role(user) == "owner"

    def open_invitation(self, user: str, owner: str | None = None) -> tuple[str, str, str, int] | None:
        """The invitation of a user, if it counts; for ``owner`` also their own one, which the user blocks."""
        found = next((each for each in self.invited if each[0] == user), None)
        if found is None or not self.owns(found[1]):
            return None
        return found if found[1] == owner or (user, found[1]) not in self.blocks else None

    def shows(self, invitation: tuple[str, str, str, int]) -> bool:
        return self.open_invitation(invitation[0]) is not None

    def visible(self) -> set[tuple[str, str, str]]:
        """Whom an owner sees as invited: user, inviter and role."""
        return {each[:3] for each in self.invited if self.open_invitation(each[0], each[1])}

    def uninvited(self, user: str) -> State:
        return replace(self, invited=frozenset(each for each in self.invited if each[0] != user))

    def joined(self, user: str, role: str, messages: range = range(0)) -> State:
        """The user is inside, and may also read earlier messages."""
        others = frozenset(each for each in self.inside if each[0] != user)
        read = self.read | {(user, number) for number in messages}
        return replace(self.uninvited(user), inside=others | {(user, role)}, read=read)

    def outside(self, user: str) -> State:
        """The user is outside, and what the user wished for others ends."""
        invited = frozenset(each for each in self.invited if each[1] != user or user == "carol")
        inside = frozenset(each for each in self.inside if each[0] != user)
        return replace(self, inside=inside, invited=invited).uninvited(user)

    def invite(self, by: str, user: str, role: str | None, now: int) -> State:
        found = self.open_invitation(user, by) or (user, by, "member", now)
        invitation = (*found[:2], role or found[2], found[3])
        return replace(self.uninvited(user), invited=self.uninvited(user).invited | {invitation})

    def after(self, what: What, now: int) -> State:
        """What one request changes, if nothing happens at the same time."""
        name, by, user, role = what
        if name == "put":
            return self._put(by, user, role, now)
        if name == "join":
            found = self.open_invitation(user)
            if self.role(user) is not None or (found is None and user != "carol"):
                return self
            return self.joined(user, *((found[2], range(found[3], now)) if found else ("member",)))
        if name == "remove":
            return self.outside(user) if self.owns(by) and user != "carol" else self
        if name == "block":
            others = frozenset(each for each in self.invited if each[:2] != (user, "mallory"))
            return replace(self, blocks=self.blocks | {(user, "mallory")}, invited=others)
        if name == "unblock":
            return replace(self, blocks=self.blocks - {(user, "mallory")})
        if name == "import":
            return self.joined(user, "member") if self.role(user) is None else self.uninvited(user)
        if name == "import old leave":
            # A role ends with any leave.
            return self.uninvited(user) if self.role(user) is None else self.joined(user, "member")
        return self.outside(user)

    def _put(self, by: str, user: str, role: str | None, now: int) -> State:
        if not self.owns(by):
            return self
        if (known := self.role(user)) is not None:
            return self.joined(user, role or known)
        if (by, user) == ("carol", "bob"):  # Both are in the garden.
            return self.joined(user, role or "member")
        return self.invite(by, user, role, now)

    def after_cut(self, what: What, now: int) -> set[State]:
        """What a request may have changed that ended early."""
        name, by, user, role = what
        found = {self, self.after(what, now), self.uninvited(user)}
        if name == "block":
            found.add(replace(self, blocks=self.blocks | {(user, "mallory")}))
        if name == "put" and self.owns(by) and self.role(user) is None and (by, user) != ("carol", "bob"):
            found.add(self.invite(by, user, role, now))
        return found


class Turns:
    """Runs requests at once, each in a thread, of which one goes on at a time until its next call of a store."""

    def __init__(self) -> None:
        self._mine = threading.local()
        self._back = threading.Semaphore(0)

    def run(
        self, requests: Sequence[Callable[[], object]], cuts: Sequence[int | None], schedule: Iterator[int]
    ) -> None:
        going = [threading.Semaphore(0) for _ in requests]
        running = list(range(len(requests)))

        def work(index: int) -> None:
            self._mine.going, self._mine.left = going[index], cuts[index]
            going[index].acquire()
            try:
                requests[index]()
            finally:
                running.remove(index)
                self._back.release()

        with ThreadPoolExecutor(len(requests)) as pool:
            answers = [pool.submit(work, index) for index in running]
            while running:
                going[running[next(schedule, 0) % len(running)]].release()
                self._back.acquire()
        for answer in answers:
            answer.result()

    def step(self) -> None:
        """Let another request go on. Raises StoreUnavailable where this one ends, and from then on."""
        if not hasattr(self._mine, "going"):
            return
        self._back.release()
        self._mine.going.acquire()
        if self._mine.left is not None:
            self._mine.left -= 1
            if self._mine.left < 0:
                raise StoreUnavailable("the request ended here")


class Stepped:
    """A store whose every call is a step."""

    def __init__(self, store: Any, turns: Turns) -> None:
        self._store, self._turns = store, turns

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def call(*arguments: Any) -> Any:
            self._turns.step()
            return found(*arguments)

        return call


class Stage(WholeRoomWorld):
    """The room and its stores, of which every call is a step. carol and bob know each other from the garden."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = Turns()
        self.memberships: Any = Stepped(self.memberships, self.turns)
        self.invitations.between = self.turns.step
        self.invitations: Any = Stepped(self.invitations, self.turns)
        self.access = RoomAccess(self.rooms, self.memberships)
        self.clocks = {skew: FixedClock(iso(self.clock.now())) for skew in SKEWS}
        for skew, clock in self.clocks.items():
            clock.advance(skew)
        self.environments = {skew: self.environment(clock) for skew, clock in self.clocks.items()}
        self.said: list[str] = []
        self.ok("carol", "PUT", "kitchen", GROUP)
        self.ok("carol", "PUT", "garden", GROUP)
        self.bring("carol", "garden", "bob")
        self.ok("carol", "PUT", "kitchen/members/mallory", {"role": "owner"})
        self.ok("mallory", "PUT", "kitchen/members/mallory")
        self.wait()

    def wait(self) -> None:
        for clock in (self.clock, *self.clocks.values()):
            clock.advance(1)

    def ask(self, asked: Asked) -> None:
        (name, by, user, role), routes = asked.what, self.environments[asked.skew]
        path, more = f"kitchen/members/{user}", {"routes": routes}
        if name in ("put", "join"):
            answer = self.request(by, "PUT", path, {"role": role} if role else None, **more)
        elif name in ("remove", "leave"):
            answer = self.request(by, "DELETE", path, **more)
        elif name == "block":
            answer = self.request(user, "PUT", f"{user}/blocked/mallory", **more)
        elif name == "unblock":
            answer = self.request(user, "DELETE", f"{user}/blocked/mallory")
        else:
            body = {"leftAt": OLD} if name == "import old leave" else None
            method = "PUT" if name == "import" else "DELETE"
            answer = self.request("importer", method, path, body, scopes=TRUSTED, **more)
        assert answer[0] in (200, 403, 404, 503), answer

    def together(self, group: Sequence[Asked], schedule: Sequence[int]) -> None:
        """Send requests at once, and then say a message."""
        requests = [lambda each=each: self.ask(each) for each in group]
        self.turns.run(requests, [each.cut for each in group], iter(schedule))
        self.wait()
        self.said.append(iso(self.clock.now()))
        self.wait()

    def seen(self) -> tuple[set[tuple[str, str]], set[tuple[str, str, str]], set[tuple[str, int]]]:
        """Who is inside with which role, who is invited, and who may read which message."""
        rows = {user: self.row(user) for user in USERS}
        room = self.rooms.rows["kitchen"]
        inside = {(user, effective_role(room, row)) for user, row in rows.items() if row.is_open}
        items = self.ok("carol", "GET", "kitchen/invited")["items"]
        invited = {(each["userId"], each["invitedBy"], each["role"]) for each in items}
        return set[tuple[str, str]](inside), invited, {pair for user in USERS for pair in self._read(user)}

    def _read(self, user: str) -> set[tuple[str, int]]:
        try:
            scope = self.access.read_scope(caller(user), "kitchen")
        except HeadraceError:
            return set()
        return {(user, number) for number, at in enumerate(self.said) if scope.covers(at)}


def outcomes(state: State, group: Sequence[Asked], now: int) -> set[State]:
    """The states that these requests may lead to, one after the other in any order."""
    found: set[State] = set()
    for order in itertools.permutations(group):
        states = {state}
        for each in order:
            states = {after for before in states for after in _after(before, each, now, is_alone=len(group) == 1)}
        found |= states
    return {replace(each, read=each.read | {(user, now) for user, _ in each.inside}) for each in found}


def _after(before: State, asked: Asked, now: int, *, is_alone: bool) -> set[State]:
    found = {before.after(asked.what, now)} if asked.cut is None else before.after_cut(asked.what, now)
    if not is_alone and asked.what[0] == "put":
        # Of two who invite a user at once, neither has to see the other's invitation.
        found |= _after(before.uninvited(asked.what[2]), asked, now, is_alone=True)
    return found


def owned(state: State) -> set[tuple[str, str]]:
    return {(user, "owner" if user == "carol" else role) for user, role in state.inside}


def check(groups: Sequence[tuple[Sequence[Asked], Sequence[int]]]) -> None:
    with patch.object(consent, "ADDED_LIMIT", 1000):
        stage = Stage()
        possible = {State(frozenset({("carol", "owner"), ("mallory", "owner")}))}
        for now, (group, schedule) in enumerate(groups):
            stage.together(group, schedule)
            inside, invited, read = stage.seen()
            expected = {after for state in possible for after in outcomes(state, group, now)}
            is_alone = len(group) == 1
            if not is_alone:
                expected = {with_roles(each, inside, may_own(possible, group)) for each in expected}
            is_strict = is_alone and group[0].cut is None
            fitting = {
                # Of requests at once, an invitation may get lost.
                replace(
                    each, invited=frozenset(one for one in each.invited if one[:3] in invited or not each.shows(one))
                )
                for each in expected
                if owned(each) == inside and read <= each.read
                if (invited == each.visible() if is_strict else invited <= each.visible())
            }
            assert fitting, f"{group} led to {inside}, {invited} and {sorted(read)}, and no order does: {expected}"
            possible = fitting


def may_own(possible: set[State], group: Sequence[Asked]) -> set[str]:
    """Who may own the room after requests at once. Of two roles that are given at once, either may stay."""
    given = {each.what[2] for each in group if each.what[3] == "owner"}
    for state in possible:
        given |= {user for user, role in owned(state) if role == "owner"}
        given |= {user for user, _, role, _ in state.invited if role == "owner"}
    return given


def with_roles(state: State, inside: set[tuple[str, str]], owners: set[str]) -> State:
    """The state with these roles, of users who are inside, if they may have them."""
    found = dict(inside)
    roles = {(user, found.get(user, role)) for user, role in state.inside}
    return replace(state, inside=frozenset((user, role if user in owners else "member") for user, role in roles))
