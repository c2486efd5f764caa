"""Generates the clicks of one run, and computes the expected answers to queries about them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from headrace.core import times

ADS, USERS = 200, 5_000
TYPES = ("banner", "native", "popup", "search", "video")


class Click(NamedTuple):
    """One click ``at`` a time, in microseconds. Clicks sort as in a history, oldest first."""

    at: int
    click_id: str
    ad: str
    user: str
    type: str

    def item(self) -> dict[str, Any]:
        """The item of a history, without its key."""
        return {
            "clickId": self.click_id,
            "clickedAt": times.iso(self.at),
            "adId": self.ad,
            "userId": self.user,
            "adType": self.type,
        }

    def event(self) -> dict[str, Any]:
        """The event as JSON, as it is sent, with an address of a documentation network."""
        return {**self.item(), "address": f"198.51.100.{self.at % 254 + 1}"}


Counts = dict[str, Any]
"""The counts of a window or of one of its steps, as in an answer."""


def counts(clicks: Sequence[Click]) -> Counts:
    """The counts of ``clicks``."""
    types = dict(Counter(each.type for each in clicks))
    return {"clicks": len(clicks), "uniqueUsers": len({each.user for each in clicks}), "types": types}


@dataclass(frozen=True)
class Campaign:
    """The clicks of one run. Ids of ads and users contain ``name``, so answers have no clicks of other runs."""

    name: int
    clicks: tuple[Click, ...]

    def by(self, field: str) -> dict[str, list[Click]]:
        """The clicks by their ``ad`` or ``user``, newest first."""
        found: dict[str, list[Click]] = defaultdict(list)
        for click in sorted(self.clicks, reverse=True):
            found[getattr(click, field)].append(click)
        return found

    @property
    def window(self) -> tuple[int, int]:
        """From the minute of the first click to the end of the minute of the last one."""
        seen = [each.at // times.MINUTE * times.MINUTE for each in self.clicks]
        return min(seen), max(seen) + times.MINUTE

    def steps(self, clicks: Iterable[Click]) -> list[Counts]:
        """The counts of ``clicks`` ``from`` each minute of the window, including empty minutes."""
        minutes: dict[int, list[Click]] = defaultdict(list)
        for each in clicks:
            minutes[each.at // times.MINUTE * times.MINUTE].append(each)
        return [{"from": times.iso(start), **counts(minutes[start])} for start in range(*self.window, times.MINUTE)]

    def top(self) -> list[tuple[str, int]]:
        """The ads by number of clicks, most first, then by id."""
        clicked = Counter(each.ad for each in self.clicks)
        return sorted(clicked.items(), key=lambda each: (-each[1], each[0]))


def click_of(name: int, number: int, at: int, chance: random.Random) -> Click:
    """Click ``number`` of the campaign ``name``."""
    click_id, ad = f"{name:08x}-0000-4000-8000-{number:012d}", ad_of(name, chance.random())
    return Click(at, click_id, ad, user_of(name, chance.randrange(USERS)), chance.choice(TYPES))


def ad_of(name: int, dice: float) -> str:
    """The ad of the campaign ``name`` for a number from 0 to 1."""
    return f"ad-{name:x}-{int(ADS * dice**3):04d}"


def user_of(name: int, number: int) -> str:
    """User ``number``, from 0 to ``USERS`` - 1, of the campaign ``name``."""
    return f"user-{name:x}-{number:04d}"


def post_clicks(events: Sequence[Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    """The path and the body that post one click to its ad, or several in a batch."""
    if len(events) > 1:
        return "/clicks/batch", {"events": events}
    body = {name: value for name, value in events[0].items() if name != "adId"}
    return f"/ads/{quote(events[0]['adId'], safe='')}/clicks", body
