"""GET /parked, POST /parked/return: the messages in the parking queue, and moving them back to a lane."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import OPS
from headrace.core.errors import BrokerUnavailable, SecretsUnavailable
from headrace.features.operations.parked_routes import (
    ParkedDepth,
    RequeueBody,
    Requeued,
    parking_queues,
    read_depth,
    requeue,
)

ERRORS = (BrokerUnavailable, SecretsUnavailable)
ROUTES = {
    "GET /parked": Route(read_depth, scopes=(OPS,), answer=ParkedDepth, errors=ERRORS),
    "POST /parked/return": Route(requeue, scopes=(OPS,), body=RequeueBody, answer=Requeued, errors=ERRORS),
}

handler = http_api(ROUTES, parking_queues)
