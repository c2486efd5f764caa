"""How rides are sent and taken back, and the gate that refuses those of no season."""

from __future__ import annotations

import functools

from headrace.core.errors import NotFound
from headrace.delivery.http_routes import batch, single, take_back
from headrace.features.ski.dynamodb import DynamoResorts
from headrace.features.ski.resorts import SeasonGate
from headrace.features.ski.stream import SKI, TAKEN_BACK_RIDES
from headrace.runtime.settings import ResortSettings
from headrace.services.shared import impatient

ROUTES = {
    "receive_http": {
        "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": single(
            SKI, "resortID", "seasonID", "dayID", "skierID", status=201, errors=(NotFound,)
        ),
        "POST /lift-rides/batch": batch(SKI, errors=(NotFound,)),
        "POST /lift-rides/take-back": take_back(TAKEN_BACK_RIDES, errors=(NotFound,)),
    }
}


def gate() -> SeasonGate:
    """Refuses a ride whose resort does not have its season."""
    return SeasonGate(_resorts)


@functools.cache
def _resorts() -> DynamoResorts:
    return DynamoResorts(impatient("dynamodb"), ResortSettings.read().resorts_table)
