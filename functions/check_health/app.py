"""GET /health: whether events are accepted and history can be read."""

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.health import health
from headrace.health.health import HealthBody, check_health

ROUTES = {"GET /health": Route(check_health, scopes=None, answer=HealthBody)}

handler = http_api(ROUTES, health)
