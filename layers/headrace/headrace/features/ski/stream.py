"""The stream ``ski``: rides on lifts, with the names of the public SkiDataAPI.

The key of a ride has all of its attributes. Rides that differ in any of them are two rows, so a row never changes.
A ride that was taken back has a second row, whose key follows the ride's directly. Readers skip both, in whatever order
they were stored.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE
from headrace.core.fields import (
    DIGITS,
    NUMBER_OR_DIGITS,
    IncomingModel,
    NewId,
    SenderTag,
    StoredId,
    stamped,
    whole_number,
)
from headrace.core.items import Item
from headrace.core.keys import SEPARATOR
from headrace.core.people import SKIERS
from headrace.core.sender import Incoming
from headrace.core.stream import ArchivedTable, Index, Stream, TableSettings, Told
from headrace.features.ski import FEATURE

ID_FIELD = "rideID"
TAKEN_BACK_BY = "takenBackBy"
"""Field of an event that takes a ride back: the tag of its sender. Without ``sender``, it can never become a ride."""
TAKEN_BACK = "#taken-back"
"""What follows the ride's key in the key of the row that takes it back. No other key is between the two."""
STORED_TYPE, TAKEN_BACK_TYPE = FEATURE.tells
"""What others are told."""
VERTICAL_PER_LIFT = 10
RESORTS = 1, 999_999_999
SEASONS = 1900, 2199
LIFTS = 1, 1000

ResortNumber = Annotated[int, whole_number(*RESORTS, **DIGITS), NUMBER_OR_DIGITS]
SeasonNumber = Annotated[int, whole_number(*SEASONS, **DIGITS), NUMBER_OR_DIGITS]
ResortID = Annotated[ResortNumber, Field(alias="resortID")]
SeasonID = Annotated[SeasonNumber, Field(alias="seasonID")]
DayID = Annotated[int, whole_number(1, 366, alias="dayID", **DIGITS), NUMBER_OR_DIGITS]
SkierID = Annotated[int, whole_number(*SKIERS, alias="skierID", **DIGITS), NUMBER_OR_DIGITS]
LiftID = Annotated[int, whole_number(*LIFTS, alias="liftID", **DIGITS), NUMBER_OR_DIGITS]
MINUTE_FORM = "a whole number from 0 to 1439: the minute of the ski day"
Minute = Annotated[int, whole_number(0, 1439, description=MINUTE_FORM, **DIGITS), NUMBER_OR_DIGITS]

RESORT_DAY_INDEX = Index(name="ResortDayIndex", partition_key="resortDayId", sort_key="rideSk")
"""It has as many shards for each resort's day as a time index has for all events."""
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
    """The parts of a ride's sort key."""
    season, day, time, resort, lift, ride_id, tag = key.split(SEPARATOR)
    return Ride(int(season), int(day), int(time), int(resort), int(lift), ride_id, tag)


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
    """The resort's day that a partition of the index belongs to."""
    return ResortDay(*map(int, shard.split(SEPARATOR)[:3]))


def day_counts(day: ResortDay) -> str:
    """The cache key of the counts of a resort's day."""
    return f"ski:day:{day.id}"


class IncomingRide(IncomingModel):
    """A ride as a client sends it. Numbers can also be texts of digits."""

    resort: ResortID
    season: SeasonID
    day: DayID
    skier: SkierID
    time: Minute
    lift: LiftID
    ride_id: NewId | None = Field(default=None, alias="rideID", description=keys.NEW_ID_FORM)
    wait_time: int | str | None = Field(
        default=None, alias="waitTime", description="accepted and not stored: some clients of the SkiDataAPI send it"
    )


class StampedRide(IncomingRide):
    """A ride in an envelope."""

    model_config = ConfigDict(extra="ignore")

    ride_id: StoredId = Field(alias="rideID", description=keys.STORED_ID_FORM)
    sender: SenderTag = Field(description="12 characters of base32")


HIDDEN = {"waitTime"}
"""The field that no row and no answer has: it is accepted because some clients send it."""
_stamped = stamped(StampedRide)


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped ride, or of one that takes a ride back.

    A ride is kept for ``table.retention_days``, or without limit if that is 0. What takes it back is kept twice as
    long, because the ride can be sent again until it would have expired.
    """
    is_taken_back, days = TAKEN_BACK_BY in event, table.retention_days
    ride = _stamped({**event, "sender": event[TAKEN_BACK_BY]} if is_taken_back else event)
    sk = ride_sk(Ride(ride.season, ride.day, ride.time, ride.resort, ride.lift, ride.ride_id, ride.sender))
    day = ResortDay(ride.resort, ride.season, ride.day)
    row: Item = {
        "skierID": str(ride.skier),
        "rideSk": sk,
        "resortDayId": keys.shard_of(day.id, event_id(ride.skier, sk), table.time_shards.write),
    }
    if is_taken_back:
        row["rideSk"] += TAKEN_BACK
        days *= 2
    if days:
        # Counted from the end of the day of acceptance, so that sending a ride again on that day changes nothing.
        row["expiresAt"] = (accepted_at // times.DAY + 1 + days) * times.DAY // times.SECOND
    return row


def tell(before: Item | None, after: Item) -> Told | None:
    """A ride that was stored, or taken back. Its rows never change, but for when they expire.

    Nothing is told of the ride of an erased skier, who has a pseudonym and no number.
    """
    if before is not None or not after["skierID"].isdecimal():
        return None
    sk = after["rideSk"].removesuffix(TAKEN_BACK)
    ride = parse_ride_sk(sk)
    data = {
        "resortID": ride.resort,
        "seasonID": ride.season,
        "dayID": ride.day,
        "skierID": int(after["skierID"]),
        "time": ride.time,
        "liftID": ride.lift,
        ID_FIELD: ride.ride_id,
    }
    return Told(STORED_TYPE if sk == after["rideSk"] else TAKEN_BACK_TYPE, event_id(after["skierID"], sk), data)


def hour(row: Item) -> str:
    """The hour of a ride. Day 45 of a season is 14 February of its year."""
    ride = parse_ride_sk(row["rideSk"].removesuffix(TAKEN_BACK))
    day = datetime(ride.season, 1, 1, tzinfo=UTC) + timedelta(ride.day - 1, minutes=ride.time)
    return day.isoformat()[: times.HOUR_LENGTH]


def _sent() -> Incoming:
    # Imported here: functions that store or read rides accept none.
    from headrace.features.ski.accepting import SENT

    return SENT


STREAM = SKI = Stream(
    name="ski",
    id_field=ID_FIELD,
    write_scope=EVENTS_WRITE,
    sent=_sent,
    item=item,
    table_setting="LIFT_RIDES_TABLE",
    retention_setting="SKI_RETENTION_DAYS",
    partition_key="skierID",
    sort_key="rideSk",
    indexes=(RESORT_DAY_INDEX,),
    people=(("skierID", "skier"),),
    tell=tell,
    archived={
        frozenset(("skierID", "rideSk")): ArchivedTable("ski", "rides", hour),
        frozenset(("resortID",)): ArchivedTable("ski", "resorts"),
    },
)
