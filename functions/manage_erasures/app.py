"""Operators erase users, and see how far it is; users erase themselves."""

from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import CHAT_READ, CHAT_WRITE, OPS
from headrace.core.errors import Conflict, NotFound, RetryLaneUnavailable, SecretsUnavailable
from headrace.features.people.erasure.routes import (
    EraseBody,
    ErasureBody,
    OwnEraseBody,
    erase,
    erase_own,
    services,
    show_erasure,
    show_own_erasure,
)

LOST = (RetryLaneUnavailable, SecretsUnavailable)
REFUSED = (*LOST, Conflict)
FOUND = (NotFound, SecretsUnavailable)
ROUTES = {
    "POST /users/{userId}/erasure": Route(
        erase, (OPS,), UserPath, body=EraseBody, answer=ErasureBody, errors=REFUSED, status=202
    ),
    "GET /users/{userId}/erasure": Route(show_erasure, (OPS,), UserPath, answer=ErasureBody, errors=FOUND),
    "POST /erasure": Route(erase_own, (CHAT_WRITE,), body=OwnEraseBody, answer=ErasureBody, errors=LOST, status=202),
    "GET /erasure": Route(show_own_erasure, (CHAT_READ,), answer=ErasureBody, errors=FOUND),
}

handler = http_api(ROUTES, services)
