"""GET /dead-letters, POST /dead-letters/redrive, POST /dead-letters/discard: events that could not be stored."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import OPS
from headrace.core.errors import DeadLaneUnavailable
from headrace.features.operations.dead_letter_routes import (
    DeadLetterList,
    DiscardBody,
    DiscardResult,
    DryRun,
    ListQuery,
    RedriveBody,
    RedriveResult,
    dead_letters,
    discard,
    list_dead_letters,
    redrive,
)

ROUTES = {
    "GET /dead-letters": Route(
        list_dead_letters, scopes=(OPS,), query=ListQuery, answer=DeadLetterList, errors=(DeadLaneUnavailable,)
    ),
    "POST /dead-letters/redrive": Route(
        redrive, scopes=(OPS,), body=RedriveBody, answer=RedriveResult | DryRun, errors=(DeadLaneUnavailable,)
    ),
    "POST /dead-letters/discard": Route(
        discard, scopes=(OPS,), body=DiscardBody, answer=DiscardResult | DryRun, errors=(DeadLaneUnavailable,)
    ),
}

handler = http_api(ROUTES, dead_letters)
