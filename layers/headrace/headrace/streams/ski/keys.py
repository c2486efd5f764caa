"""Builds and parses the keys of lift rides, by the rules of ``headrace/core/keys.py``.

The key of a ride has all of its attributes. Rides that differ in any of them are two rows, so a row never changes.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from headrace.core.keys import SEPARATOR, is_sender_tag

_MARK = blake2b(digest_size=12, person=b"rideMark")


class Ride(NamedTuple):
    """The attributes in a row's sort key."""

    season: int
    day: int
    time: int
    resort: int
    lift: int
    ride_id: str
    sender_tag: str


class ResortDay(NamedTuple):
    """One day of one season at one resort."""

    resort: int
    season: int
    day: int

    @property
    def id(self) -> str:
        """The day as one text; the partitions of the index are its shards."""
        return f"{self.resort}#{self.season:04d}#{self.day:03d}"


def ride_sk(ride: Ride) -> str:
    """The sort key of a ride: in order of season, day and time, then resort, lift and id."""
    return (
        f"{ride.season:04d}#{ride.day:03d}#{ride.time:04d}#{ride.resort:09d}#{ride.lift:04d}"
        f"#{ride.ride_id}#{ride.sender_tag}"
    )


def parse_ride_sk(key: str) -> Ride:
    """The parts of a ride's sort key.

    Raises:
        ValueError: not the key of a ride.
    """
    parts = key.split(SEPARATOR)
    if len(parts) != 7 or not parts[5] or not is_sender_tag(parts[6]):
        raise ValueError("not a ride's key")
    season, day, time, resort, lift = map(int, parts[:5])
    return Ride(season, day, time, resort, lift, parts[5], parts[6])


def season_bounds(season: int) -> tuple[str, str]:
    """Bounds on the sort keys of a season's rides: ``$`` follows ``#``, and no key equals either."""
    return f"{season:04d}#", f"{season:04d}$"


def day_bounds(season: int, day: int) -> tuple[str, str]:
    """Bounds on the sort keys of a day's rides."""
    return f"{season:04d}#{day:03d}#", f"{season:04d}#{day:03d}$"


def event_id(skier: int | str, sk: str) -> str:
    """The key of a ride's row as one text. It chooses the queue and the shard of the ride."""
    return f"{skier}#{sk}"


def ride_mark(skier: str, sk: str) -> bytes:
    """A hash of a ride, in 12 bytes. The chance that two of a million rides are equal is 1 in 10^17."""
    mark = _MARK.copy()  # a new one with these parameters takes twice as long
    mark.update(event_id(skier, sk).encode())
    return mark.digest()


def parse_resort_day(shard: str) -> ResortDay:
    """The resort's day that a partition of the index belongs to.

    Raises:
        ValueError: not a partition of this index.
    """
    parts = shard.split(SEPARATOR)
    if len(parts) != 4:
        raise ValueError("not a resort's day")
    return ResortDay(*(int(part) for part in parts[:3]))


def day_counts(day: ResortDay) -> str:
    """The cache key of the counts of a resort's day."""
    return f"ski:day:{day.id}"
