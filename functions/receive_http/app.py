"""Routes that accept events: one, a batch with one result for each, and what changes or takes back earlier ones."""

from headrace.bootstrap.acceptor import http_acceptor
from headrace.bootstrap.api import http_api
from headrace.core.errors import NotFound
from headrace.delivery.http_routes import batch, single, take_back
from headrace.stage.chosen import routes_of
from headrace.streams.ads.stream import ADS, TAKEN_BACK_CLICKS
from headrace.streams.chat.stream import CHAT
from headrace.streams.ski.stream import SKI, TAKEN_BACK_RIDES

ROUTES = {
    "POST /rooms/{roomId}/messages": single(CHAT, "roomId", errors=(NotFound,)),
    "POST /messages/batch": batch(CHAT, errors=(NotFound,)),
    "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": single(
        SKI, "resortID", "seasonID", "dayID", "skierID", status=201, errors=(NotFound,)
    ),
    "POST /lift-rides/batch": batch(SKI, errors=(NotFound,)),
    "POST /lift-rides/take-back": take_back(TAKEN_BACK_RIDES, errors=(NotFound,)),
    "POST /ads/{adId}/clicks": single(ADS, "adId"),
    "POST /clicks/batch": batch(ADS),
    "POST /clicks/take-back": take_back(TAKEN_BACK_CLICKS),
}
ROUTES |= routes_of("receive_http")

handler = http_api(ROUTES, http_acceptor)
