"""The stream ``ski``: rides on lifts, with the names of the public SkiDataAPI."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, SenderContext
from headrace.core.fields import Id, IncomingModel, SenderTag, StoredId, incoming, stamped
from headrace.core.items import Item
from headrace.core.stream import Index, Shards, Stream, TableSettings, ValidatedEvent
from headrace.streams.ski.fields import DayID, LiftID, Minute, ResortID, SeasonID, SkierID
from headrace.streams.ski.keys import ResortDay, Ride, event_id, ride_sk

ID_FIELD = "rideID"

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
