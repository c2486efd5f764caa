"""GET /status: lanes, depths, breakers and probes, for operators."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.health import status
from headrace.core.caller import OPS
from headrace.health.status import StatusBody, read_status

ROUTES = {"GET /status": Route(read_status, scopes=(OPS,), answer=StatusBody)}

handler = http_api(ROUTES, status)
