"""POST routes that accept events: one event, or a batch with one result for each event."""

from headrace.bootstrap.acceptor import http_acceptor
from headrace.bootstrap.api import http_api
from headrace.core.errors import NotFound
from headrace.delivery.http_routes import batch, single
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from headrace.streams.ski.stream import SKI

ROUTES = {
    "POST /rooms/{roomId}/messages": single(CHAT, "roomId", errors=(NotFound,)),
    "POST /messages/batch": batch(CHAT, errors=(NotFound,)),
    "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": single(
        SKI, "resortID", "seasonID", "dayID", "skierID", status=201, errors=(NotFound,)
    ),
    "POST /lift-rides/batch": batch(SKI, errors=(NotFound,)),
    "POST /ads/{adId}/clicks": single(ADS, "adId"),
    "POST /clicks/batch": batch(ADS),
}

handler = http_api(ROUTES, http_acceptor)
