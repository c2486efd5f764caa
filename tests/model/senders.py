"""The events of the model's clients: few rooms, ids, times and texts, so that events often have the same key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from headrace.core import times
from headrace.core.caller import Caller
from tests.model.ledger import Content, EventKey, tag_of
from tests.worlds.senders import CLOCK, caller

TRUSTED = caller("importer", "events:write")
CALLERS = [caller("alice"), caller("bob"), caller("mallory"), TRUSTED]

_START = CLOCK.now()
MOMENTS = [times.iso(_START - ago) for ago in (0, 1, 3600 * times.SECOND)]


@dataclass(frozen=True)
class ClientEvent:
    """An event as a client sends it; the server sets what is ``None``."""

    room: str = "kitchen"
    text: str = "hello"
    id: str | None = None
    time: str | None = None
    user: str | None = None

    def raw(self) -> dict[str, Any]:
        """The JSON object that the client sends."""
        fields = {"messageId": self.id, "timestamp": self.time, "userId": self.user}
        named = {name: value for name, value in fields.items() if value is not None}
        return {"roomId": self.room, "message": self.text, **named}

    def valid(self, by: Caller, now: int) -> bool:
        """Whether the platform accepts it from ``by``: an own id with its time, with their user id and not too old;
        a trusted sender's of any user and age."""
        if self.time is None and self.id is not None:
            return False
        if by is TRUSTED:
            return True
        return self.user in (None, by.subject) and (self.time is None or times.parse_iso(self.time) >= now - times.DAY)

    def content(self, by: Caller) -> Content:
        """The expected content of its row."""
        if by is TRUSTED and self.user is not None:
            return self.user, self.user, self.text
        return by.subject, by.username, self.text

    def sent(self, receipt: dict[str, str] | Any) -> ClientEvent:
        """The same event with the id and time of its receipt, to be sent again."""
        return ClientEvent(self.room, self.text, receipt["messageId"], receipt["timestamp"], self.user)

    def key(self, by: Caller) -> EventKey:
        """Its key, when it has an id and a time."""
        assert self.id is not None
        assert self.time is not None
        return EventKey(self.room, self.time, self.id, tag_of(by.subject, self.content(by)[0], self.text))


IDS = ["m-1", "m-2", "m-3", "m-4", "m-5", "ü"]

_own = st.builds(
    ClientEvent,
    room=st.sampled_from(["kitchen", "hall"]),
    text=st.sampled_from(["hello", "hi"]),
    id=st.sampled_from(IDS),
    time=st.sampled_from(MOMENTS),
    user=st.sampled_from([None, None, None, "alice", "bob"]),
)
_stamped_here = st.builds(ClientEvent, id=st.sampled_from([None, "m-1", "m-6"]), text=st.sampled_from(["hello", "hi"]))

complete_events = st.lists(_own, min_size=1, max_size=8)
"""Events with an id and a time, as the docs recommend."""
client_events = st.lists(_own | _stamped_here, min_size=1, max_size=8)
callers = st.sampled_from(CALLERS)
