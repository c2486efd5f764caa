"""CORS as an HTTP API does it: the gateway answers preflight requests and writes every CORS header itself."""

from __future__ import annotations

from aiohttp import web

from localstage.core.model import Cors

_PREFIX = "access-control-"


class CorsPolicy:
    """Applies one API's CORS configuration."""

    def __init__(self, cors: Cors) -> None:
        self._origins = frozenset(origin.lower() for origin in cors.allow_origins)
        self._expose = ",".join(cors.expose_headers)
        self._preflight: dict[str, str] = {}
        if cors.allow_methods:
            self._preflight["Access-Control-Allow-Methods"] = ",".join(cors.allow_methods)
        if cors.allow_headers:
            self._preflight["Access-Control-Allow-Headers"] = ",".join(cors.allow_headers)
        if cors.max_age is not None:
            self._preflight["Access-Control-Max-Age"] = str(cors.max_age)

    @staticmethod
    def is_preflight(request: web.BaseRequest) -> bool:
        """Whether this is a preflight request."""
        return (
            request.method == "OPTIONS"
            and "Origin" in request.headers
            and "Access-Control-Request-Method" in request.headers
        )

    def preflight(self, request: web.BaseRequest) -> web.Response:
        """Return the answer to a preflight: 204, with the CORS headers only if the origin is allowed."""
        response = web.Response(status=204)
        if self._allow(request, response):
            response.headers.update(self._preflight)
        return response

    def apply(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Replace the CORS headers of a function's response with the configured ones."""
        for name in [name for name in response.headers if name.lower().startswith(_PREFIX)]:
            del response.headers[name]
        if self._allow(request, response) and self._expose:
            response.headers["Access-Control-Expose-Headers"] = self._expose

    def _allow(self, request: web.BaseRequest, response: web.StreamResponse) -> bool:
        origin = request.headers.get("Origin")
        if origin is None:
            return False
        if "*" in self._origins:
            response.headers["Access-Control-Allow-Origin"] = "*"
        elif origin.lower() in self._origins:
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers.add("Vary", "Origin")
        else:
            return False
        return True
