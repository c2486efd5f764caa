"""The stream ``ski``: rides on lifts, with the names of the public SkiDataAPI."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, SenderContext
from headrace.core.fields import (
    DIGITS,
    NUMBER_OR_DIGITS,
    Id,
    IncomingModel,
    SenderTag,
    StoredId,
    incoming,
    stamped,
    whole_number,
)
from headrace.core.items import Item
from headrace.core.stream import Index, Shards, Stream, TableSettings, ValidatedEvent
from headrace.streams.ski.keys import ResortDay, Ride, event_id, ride_sk

ID_FIELD = "rideID"
VERTICAL_PER_LIFT = 10
RESORTS = 1, 999_999_999
SEASONS = 1900, 2199

ResortNumber = Annotated[int, whole_number(*RESORTS, **DIGITS), NUMBER_OR_DIGITS]
SeasonNumber = Annotated[int, whole_number(*SEASONS, **DIGITS), NUMBER_OR_DIGITS]
ResortID = Annotated[ResortNumber, Field(alias="resortID")]
SeasonID = Annotated[SeasonNumber, Field(alias="seasonID")]
DayID = Annotated[int, whole_number(1, 366, alias="dayID", **DIGITS), NUMBER_OR_DIGITS]
SkierID = Annotated[int, whole_number(1, 999_999_999_999, alias="skierID", **DIGITS), NUMBER_OR_DIGITS]
LiftID = Annotated[int, whole_number(1, 1000, alias="liftID", **DIGITS), NUMBER_OR_DIGITS]
MINUTE_FORM = "a whole number from 0 to 1439: the minute of the ski day"
Minute = Annotated[int, whole_number(0, 1439, description=MINUTE_FORM, **DIGITS), NUMBER_OR_DIGITS]

RESORT_DAY_SHARDS = Shards(write=8, read=8)
"""Each shard takes 1000 rides a second of one resort's day. Grow ``read`` first, and never shrink it below a ``write``
that stored rides were written with."""
RESORT_DAY_INDEX = Index(
    name="ResortDayIndex", partition_key="resortDayId", sort_key="rideSk", shards=RESORT_DAY_SHARDS
)


class IncomingRide(IncomingModel):
    """A ride as a client sends it. Numbers may also be texts of digits."""

    resort: ResortID
    season: SeasonID
    day: DayID
    skier: SkierID
    time: Minute
    lift: LiftID
    ride_id: Id | None = Field(default=None, alias="rideID", description=keys.ID_FORM)
    wait_time: int | str | None = Field(
        default=None, alias="waitTime", description="accepted and not stored: some clients of the SkiDataAPI send it"
    )


class StampedRide(IncomingRide):
    """A ride in an envelope."""

    model_config = ConfigDict(extra="ignore")

    ride_id: StoredId = Field(alias="rideID", description=keys.STORED_ID_FORM)
    sender: SenderTag = Field(description="12 characters of base32")


_incoming = incoming(IncomingRide)
_stamped = stamped(StampedRide)


def accept(raw: object, sender: SenderContext) -> ValidatedEvent:
    """A client's ride, validated and stamped."""
    ride = _incoming(raw)
    day = ResortDay(ride.resort, ride.season, ride.day)
    # A ride without an id is the same ride for the same skier, place and minute.
    ride_id = ride.ride_id or keys.derived_id(ride.skier, *day, ride.time, ride.lift)
    tag = keys.sender_tag(sender.subject)
    sk = ride_sk(Ride(ride.season, ride.day, ride.time, ride.resort, ride.lift, ride_id, tag))
    event = {
        "resortID": ride.resort,
        "seasonID": ride.season,
        "dayID": ride.day,
        "skierID": ride.skier,
        "time": ride.time,
        "liftID": ride.lift,
        ID_FIELD: ride_id,
        "sender": tag,
    }
    return ValidatedEvent(event, event_id(ride.skier, sk), (str(ride.skier), sk), {ID_FIELD: ride_id})


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped ride. It is kept for ``table.retention_days``, or without limit if that is 0."""
    ride = _stamped(event)
    sk = ride_sk(Ride(ride.season, ride.day, ride.time, ride.resort, ride.lift, ride.ride_id, ride.sender))
    day = ResortDay(ride.resort, ride.season, ride.day)
    row: Item = {
        "skierID": str(ride.skier),
        "rideSk": sk,
        "resortDayId": keys.shard_of(day.id, event_id(ride.skier, sk), RESORT_DAY_SHARDS.write),
    }
    if table.retention_days:
        # Counted from the end of the day of acceptance, so that sending a ride again on that day changes nothing.
        row["expiresAt"] = (accepted_at // times.DAY + 1 + table.retention_days) * times.DAY // times.SECOND
    return row


SKI = Stream(
    name="ski",
    id_field=ID_FIELD,
    write_scope=EVENTS_WRITE,
    incoming=IncomingRide,
    accept=accept,
    item=item,
    table_setting="LIFT_RIDES_TABLE",
    retention_setting="SKI_RETENTION_DAYS",
    partition_key="skierID",
    sort_key="rideSk",
    indexes=(RESORT_DAY_INDEX,),
)
