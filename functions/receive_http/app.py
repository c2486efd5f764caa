"""Routes that accept events: one, a batch with one result for each, and what changes or takes back earlier ones."""

from headrace.bootstrap.acceptor import http_acceptor
from headrace.bootstrap.api import http_api
from headrace.core.errors import NotFound
from headrace.delivery.http_routes import batch, single
from headrace.stage.chosen import routes_of
from headrace.stage.registry import STREAMS
from headrace.streams.chat.stream import MESSAGE

CHAT = STREAMS[MESSAGE]

ROUTES = {
    "POST /rooms/{roomId}/messages": single(CHAT, "roomId", errors=(NotFound,)),
    "POST /messages/batch": batch(CHAT, errors=(NotFound,)),
}
ROUTES |= routes_of("receive_http")

handler = http_api(ROUTES, http_acceptor)
