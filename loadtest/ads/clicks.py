"""Made-up clicks of one run, and what every question about them must answer."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

from loadtest.client.chat_events import iso
from loadtest.sending.http_sender import Parcel

ADS, USERS = 200, 5_000
TYPES = ("banner", "native", "popup", "search", "video")
MINUTE = 60_000_000
"""Microseconds, as all times here since the epoch."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Click(NamedTuple):
    """One click; in this order clicks are in the order of a history that begins with the oldest."""

    at: int
    click_id: str
    ad: str
    user: str
    type: str

    def shown(self) -> dict[str, Any]:
        """As a history shows it, but for its key."""
        return {
            "clickId": self.click_id,
            "clickedAt": moment(self.at),
            "adId": self.ad,
            "userId": self.user,
            "adType": self.type,
        }

    def whole(self) -> dict[str, Any]:
        """As one of a batch, with the address that an ad server sends (of a network that is for documents)."""
        return {**self.shown(), "address": f"198.51.100.{self.at % 254 + 1}"}


@dataclass(frozen=True)
class Counts:
    """What one step of a window counts."""

    clicks: int
    users: int
    types: dict[str, int]

    @classmethod
    def of(cls, clicks: Sequence[Click]) -> Counts:
        """Of these clicks."""
        return cls(len(clicks), len({each.user for each in clicks}), dict(Counter(each.type for each in clicks)))

    @classmethod
    def told(cls, answer: dict[str, Any]) -> Counts:
        """What an answer says."""
        return cls(answer["clicks"], answer["uniqueUsers"], answer["types"])


@dataclass(frozen=True)
class Campaign:
    """The clicks of one run; ``name`` makes its ads and users its own, so that an earlier run's clicks are not in any
    answer about one of them."""

    name: int
    clicks: tuple[Click, ...]

    def only(self, clicks: Sequence[Click]) -> Campaign:
        """The same campaign with these of its clicks alone."""
        return Campaign(self.name, tuple(clicks))

    @cached_property
    def of_ads(self) -> dict[str, list[Click]]:
        """The clicks on each ad, newest first."""
        return _grouped((each.ad, each) for each in self.clicks)

    @cached_property
    def of_users(self) -> dict[str, list[Click]]:
        """The clicks of each user, newest first."""
        return _grouped((each.user, each) for each in self.clicks)

    @property
    def window(self) -> tuple[int, int]:
        """From the minute of the first click to after that of the last one."""
        times = [each.at for each in self.clicks]
        return min(times) // MINUTE * MINUTE, max(times) // MINUTE * MINUTE + MINUTE

    def steps(self, clicks: Iterable[Click]) -> list[tuple[str, Counts]]:
        """What each minute of the window counts of ``clicks``, which are in it; empty ones too."""
        minutes: dict[int, list[Click]] = defaultdict(list)
        for each in clicks:
            minutes[each.at // MINUTE * MINUTE].append(each)
        return [(moment(start), Counts.of(minutes[start])) for start in range(*self.window, MINUTE)]

    def top(self) -> list[tuple[str, int]]:
        """The ads by clicks, most first, equal ones by id."""
        counts = [(ad, len(clicks)) for ad, clicks in self.of_ads.items()]
        return sorted(counts, key=lambda each: (-each[1], each[0]))


def make_campaign(name: int, times: Iterable[int]) -> Campaign:
    """A click at each of ``times``, the same for the same ``name`` (32 bits). One click in six is on one ad."""
    chance = random.Random(name)
    clicks = (
        Click(
            at,
            f"{name:08x}-0000-4000-8000-{number:012d}",
            f"ad-{name:x}-{int(ADS * chance.random() ** 3):04d}",
            f"user-{name:x}-{chance.randrange(USERS):04d}",
            chance.choice(TYPES),
        )
        for number, at in enumerate(times)
    )
    return Campaign(name, tuple(clicks))


def batch(clicks: Sequence[Click]) -> Parcel[Click]:
    """``clicks`` in one POST."""
    return Parcel("/clicks/batch", clicks, lambda left: {"events": [each.whole() for each in left]})


def alone(click: Click) -> Parcel[Click]:
    """One click, posted to its ad."""
    path = f"/ads/{quote(click.ad, safe='')}/clicks"
    return Parcel(path, [click], lambda left: {k: v for k, v in left[0].whole().items() if k != "adId"})


def moment(at: int) -> str:
    """A time as answers write it."""
    return iso(_EPOCH + timedelta(microseconds=at))


def _grouped(pairs: Iterable[tuple[str, Click]]) -> dict[str, list[Click]]:
    found: dict[str, list[Click]] = defaultdict(list)
    for key, click in pairs:
        found[key].append(click)
    return {key: sorted(clicks, reverse=True) for key, clicks in found.items()}
