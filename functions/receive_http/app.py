"""The routes that take events: one, or a batch, with one result for each event."""

from __future__ import annotations

from typing import Any

from headrace.api.statistics import timed
from headrace.ingest.routes import HttpWrites, batch, single
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from headrace.streams.ski.stream import SKI
from headrace.writing import http_writes

ROUTES = {
    "POST /rooms/{roomId}/messages": single(CHAT, "roomId"),
    "POST /messages/batch": batch(CHAT),
    "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": single(
        SKI, "resortID", "seasonID", "dayID", "skierID", status=201
    ),
    "POST /lift-rides/batch": batch(SKI),
    "POST /ads/{adId}/clicks": single(ADS, "adId"),
    "POST /clicks/batch": batch(ADS),
}


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the request; one that is refused is an answer too."""
    return http_writes().answer(event, ROUTES.get(event["routeKey"], HttpWrites.unknown))
