"""Reads HTTP APIs: the OpenAPI body that the translator writes from HttpApi events, or that the template contains."""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping
from typing import Any

from localstage.core.errors import TemplateError
from localstage.core.model import Cors, HttpApi, HttpRoute, JwtAuthorizer, Throttle
from localstage.template.resources import Resource, Stack

log = logging.getLogger("localstage.template")

_METHODS = {"get", "put", "post", "delete", "options", "head", "patch"}
_ANY = "x-amazon-apigateway-any-method"
_MAX_TIMEOUT_MS = 30_000


def is_http_api(resource: Resource) -> bool:
    """An API without a protocol takes it from its body, which is OpenAPI."""
    return resource.text("ProtocolType", "HTTP") == "HTTP"


def stage_of(stack: Stack, api_id: str) -> Resource | None:
    """The API's stage; a template has one per API."""
    reference = stack.ref(api_id)
    return next((one for one in stack.all("AWS::ApiGatewayV2::Stage") if one.text("ApiId") == reference), None)


def throttle(settings: Resource) -> Throttle | None:
    """The token bucket in DefaultRouteSettings or one entry of RouteSettings."""
    if not settings.has("ThrottlingRateLimit") and not settings.has("ThrottlingBurstLimit"):
        return None
    burst = settings.integer("ThrottlingBurstLimit", 5000)
    try:
        return Throttle(float(settings.properties.get("ThrottlingRateLimit", 10000)), burst)
    except (TypeError, ValueError):
        raise settings.wrong("ThrottlingRateLimit", "must be a number") from None


def read_http_apis(stack: Stack) -> dict[str, HttpApi]:
    """Every HTTP API with its routes.

    Raises:
        TemplateError: an integration, authorizer or security scheme that the stage cannot emulate.
    """
    apis = (one for one in stack.all("AWS::ApiGatewayV2::Api") if is_http_api(one))
    return {api.id: _api(stack, api) for api in apis}


def _api(stack: Stack, api: Resource) -> HttpApi:
    if not api.has("Body"):
        raise TemplateError(f"{api.id}: the local stage runs HTTP APIs with a Body (AWS::Serverless::HttpApi)")
    body = api.inner("Body", api.mapping("Body"))
    stage = stage_of(stack, api.id) or Resource(f"{api.id}.Stage", "AWS::ApiGatewayV2::Stage", {})
    settings = stage.mapping("RouteSettings")
    authorizers = _authorizers(body)
    routes = []
    for path, methods in body.mapping("paths").items():
        for method, operation in (methods or {}).items():
            if method in _METHODS or method == _ANY:
                routes.append(_route(stack, body, path, method, operation or {}, authorizers, stage, settings))
    check_routes(settings, {route.key for route in routes}, stage.id, api.id)
    return HttpApi(
        id=api.id,
        stage=stage.text("StageName", "$default"),
        routes=tuple(routes),
        authorizers=authorizers,
        cors=_cors(api, body),
        throttle=throttle(stage.inner("DefaultRouteSettings", stage.mapping("DefaultRouteSettings"))),
    )


def check_routes(settings: Mapping[str, Any], keys: Container[str], stage_id: str, api_id: str) -> None:
    """Refuse settings of a route that the API does not have, as API Gateway does."""
    for key in settings:
        if key not in keys:
            raise TemplateError(f'{stage_id}.RouteSettings: {api_id} has no route "{key}"')


def _route(
    stack: Stack,
    body: Resource,
    path: str,
    method: str,
    operation: dict[str, Any],
    authorizers: dict[str, JwtAuthorizer],
    stage: Resource,
    settings: dict[str, Any],
) -> HttpRoute:
    key = "$default" if path in ("$default", "/$default") else f"{'ANY' if method == _ANY else method.upper()} {path}"
    integration = body.inner(f"paths.{path}.{method}", operation.get("x-amazon-apigateway-integration"))
    uri = integration.text("uri")
    function_id = stack.function_id(uri)
    if integration.text("type").lower() != "aws_proxy" or function_id is None:
        raise TemplateError(f"{integration.id}: the local stage routes to functions of this template only")
    if integration.text("payloadFormatVersion", "2.0") != "2.0":
        raise TemplateError(f"{integration.id}: the local stage speaks payload format 2.0 only")
    authorizer, scopes = _security(integration.id, operation.get("security"), authorizers)
    return HttpRoute(
        key=key,
        function_id=function_id,
        authorizer_id=authorizer,
        scopes=scopes,
        timeout=integration.integer("timeoutInMillis", _MAX_TIMEOUT_MS, low=50, high=_MAX_TIMEOUT_MS) / 1000,
        throttle=throttle(stage.inner(f"RouteSettings.{key}", settings.get(key, {}))),
    )


def _security(where: str, security: Any, authorizers: dict[str, JwtAuthorizer]) -> tuple[str | None, tuple[str, ...]]:
    for requirement in security or []:
        for name, scopes in requirement.items():
            if name == "NONE":
                continue
            if name not in authorizers:
                # A route served without its authorizer would be worse than no route.
                raise TemplateError(f"{where}.security: {name} is not a JWT authorizer of this API")
            return name, tuple(scopes or ())
    return None, ()


def _authorizers(body: Resource) -> dict[str, JwtAuthorizer]:
    schemes = body.inner("components", body.mapping("components")).mapping("securitySchemes")
    found = {}
    for name, scheme in schemes.items():
        authorizer = body.inner(f"securitySchemes.{name}", (scheme or {}).get("x-amazon-apigateway-authorizer", {}))
        if authorizer.text("type", "") != "jwt":
            continue  # refused by the first route that uses it
        settings = {key.lower(): value for key, value in authorizer.mapping("jwtConfiguration").items()}
        jwt = authorizer.inner("jwtConfiguration", settings)
        found[name] = JwtAuthorizer(
            id=name,
            issuer=jwt.text("issuer"),
            audience=tuple(dict.fromkeys(_listed(settings.get("audience")))),
            identity_source=authorizer.text("identitySource", "$request.header.Authorization"),
        )
    return found


def _cors(api: Resource, body: Resource) -> Cors | None:
    raw = body.properties.get("x-amazon-apigateway-cors") or api.properties.get("CorsConfiguration")
    if not raw:
        return None
    if not isinstance(raw, dict):
        raise TemplateError(f"{api.id}.CorsConfiguration: must be a mapping")
    cors = body.inner("x-amazon-apigateway-cors", {key[:1].lower() + key[1:]: value for key, value in raw.items()})
    return Cors(
        allow_origins=tuple(_listed(cors.properties.get("allowOrigins"))),
        allow_methods=tuple(_listed(cors.properties.get("allowMethods"))),
        allow_headers=tuple(_listed(cors.properties.get("allowHeaders"))),
        expose_headers=tuple(_listed(cors.properties.get("exposeHeaders"))),
        max_age=cors.integer("maxAge", low=-1, high=86400) if cors.has("maxAge") else None,
        allow_credentials=cors.flag("allowCredentials", False),
    )


def _listed(value: Any) -> list[str]:
    """A list of texts; a parameter of a list type inside a list makes one list of both."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [str(value)]
    return [text for item in value for text in _listed(item)]
