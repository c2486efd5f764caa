"""Routes that accept events: one, a batch with one result for each, and what changes or takes back earlier ones."""

from headrace.api.rates.rate_limiter import EVENTS
from headrace.api.router import Route
from headrace.bootstrap.acceptor import http_acceptor
from headrace.bootstrap.api import http_api
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import Conflict, InvalidEvent, NotFound, RetryLaneUnavailable
from headrace.delivery.http_routes import batch, single, take_back
from headrace.streams.ads.stream import ADS, TAKEN_BACK_CLICKS
from headrace.streams.chat.changes.routes import (
    AcceptedChange,
    DeletionBody,
    EditBody,
    delete_message,
    edit_message,
)
from headrace.streams.chat.messages.paths import MessagePath
from headrace.streams.chat.stream import CHAT
from headrace.streams.ski.stream import SKI, TAKEN_BACK_RIDES

WRITE = (CHAT_WRITE, EVENTS_WRITE)
CHANGE_ERRORS = (InvalidEvent, NotFound, Conflict, RetryLaneUnavailable)

ROUTES = {
    "POST /rooms/{roomId}/messages": single(CHAT, "roomId", errors=(NotFound,)),
    "PATCH /rooms/{roomId}/messages/{key}": Route(
        edit_message, WRITE, MessagePath, None, EditBody, AcceptedChange, CHANGE_ERRORS, 202, limit=EVENTS
    ),
    "DELETE /rooms/{roomId}/messages/{key}": Route(
        delete_message, WRITE, MessagePath, None, DeletionBody, AcceptedChange, CHANGE_ERRORS, 202, limit=EVENTS
    ),
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

handler = http_api(ROUTES, http_acceptor)
