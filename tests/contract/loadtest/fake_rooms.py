"""Rooms of members for the fake stage: intervals are computed by the platform's rule, and faults can be set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from headrace.streams.chat.rooms.memberships import Membership

Row = dict[str, Any]


@dataclass
class FakeRooms:
    """``leak``: a nick that reads all messages."""

    kinds: dict[str, str] = field(default_factory=dict)
    members: dict[tuple[str, str], Membership] = field(default_factory=dict)
    join_messages: dict[str, dict[tuple[str, str, str], Row]] = field(default_factory=dict)
    leak: str = ""

    def routes(self) -> list[web.RouteDef]:
        return [
            web.put("/rooms/{room}", self._create),
            web.put("/rooms/{room}/members/{user}", self._join),
            web.delete("/rooms/{room}/members/{user}", self._leave),
        ]

    def visible(self, room: str, user: str, rows: Iterable[Row]) -> list[Row] | None:
        """The messages and join messages that ``user`` may read; None: they were never a member."""
        if room not in self.kinds:
            return list(rows)
        intervals = self._membership(room, user).intervals
        if not intervals:
            return None
        everything = [*rows, *self.join_messages.get(room, {}).values()]
        return [
            row for row in everything if user == self.leak or any(each.covers(row["timestamp"]) for each in intervals)
        ]

    async def _create(self, request: web.Request) -> web.Response:
        room, asked = request.match_info["room"], await request.json()
        if self.kinds.setdefault(room, asked["kind"]) != asked["kind"]:
            return web.json_response({"error": {"code": "conflict", "message": "another room"}}, status=409)
        self._add(room, asked["createdBy"], "joins", asked["createdAt"], "created")
        return web.json_response({"roomId": room})

    async def _join(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self._add(request.match_info["room"], request.match_info["user"], "joins", asked["joinedAt"], asked["id"])
        return web.json_response({})

    async def _leave(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self._add(request.match_info["room"], request.match_info["user"], "leaves", asked["leftAt"], asked["id"])
        return web.json_response({})

    def _membership(self, room: str, user: str) -> Membership:
        return self.members.get((room, user), Membership(user, room))

    def _add(self, room: str, user: str, kind: str, at: str, event_id: str) -> None:
        before = self._membership(room, user)
        joins = before.joins | ({f"{at}#{event_id}"} if kind == "joins" else set())
        leaves = before.leaves | ({f"{at}#{event_id}"} if kind == "leaves" else set())
        after = self.members[room, user] = Membership(user, room, frozenset(joins), frozenset(leaves))
        ends = {stay.joined_at if kind == "joins" else stay.left_at for stay in after.intervals}
        if at in ends:
            self.join_messages.setdefault(room, {})[at, event_id, user] = {
                "roomId": room,
                "messageId": event_id,
                "timestamp": at,
                "userId": user,
                "username": user,
                "message": "",
                "messageType": "JOIN" if kind == "joins" else "LEAVE",
                "visible_at": 0.0,
            }
