"""How rides are sent and taken back, and the gate that refuses those of no season."""

from __future__ import annotations

import functools
from dataclasses import replace

from headrace.core import keys
from headrace.core.errors import NotFound
from headrace.core.fields import incoming
from headrace.core.sender import Incoming, SenderContext, ValidatedEvent
from headrace.delivery import http_routes
from headrace.delivery.http_routes import batch, single
from headrace.features.ski.dynamodb import Resorts, stage_resorts
from headrace.features.ski.resorts import SeasonGate
from headrace.features.ski.stream import (
    ID_FIELD,
    SKI,
    TAKEN_BACK,
    TAKEN_BACK_BY,
    IncomingRide,
    ResortDay,
    Ride,
    event_id,
    ride_sk,
)
from headrace.services.shared import impatient

_incoming = incoming(IncomingRide)


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


def take_back(raw: object, sender: SenderContext) -> ValidatedEvent:
    """A client's wish to take a ride back, which names the ride as it was sent."""
    ride = accept(raw, sender)
    ride.event[TAKEN_BACK_BY] = ride.event.pop("sender")
    return replace(ride, key=(ride.key[0], ride.key[1] + TAKEN_BACK))


SENT = Incoming(accept, IncomingRide)
TAKEN_BACK_RIDES = replace(SKI, sent=lambda: Incoming(take_back, IncomingRide))
"""How clients take rides back. It has the queues and the table of rides."""
ROUTES = {
    "receive_http": {
        "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": single(
            SKI, "resortID", "seasonID", "dayID", "skierID", status=201, errors=(NotFound,)
        ),
        "POST /lift-rides/batch": batch(SKI, errors=(NotFound,)),
        "POST /lift-rides/take-back": http_routes.take_back(TAKEN_BACK_RIDES, errors=(NotFound,)),
    }
}


def gate() -> SeasonGate:
    """Refuses a ride whose resort does not have its season."""
    return SeasonGate(_resorts)


@functools.cache
def _resorts() -> Resorts:
    return stage_resorts(impatient("dynamodb"))
