"""Reads HTTP APIs: the OpenAPI body that the translator writes from HttpApi events."""

from __future__ import annotations

from typing import Any

from localstage.core.errors import TemplateError
from localstage.core.model import Cors, HttpApi, HttpRoute, JwtAuthorizer, Throttle
from localstage.template.resources import Properties, Stack

_TIMEOUT_MS = 30_000


def stage_of(stack: Stack, api_id: str) -> Properties:
    """The properties of the API's stage; a template has one per API."""
    reference = stack.value(api_id)
    stages = (one for _, one in stack.all("AWS::ApiGatewayV2::Stage") if one["ApiId"] == reference)
    if (found := next(stages, None)) is None:
        raise TemplateError(f"{api_id}: there is no AWS::ApiGatewayV2::Stage for it")
    return found


def throttle(settings: Properties | None) -> Throttle | None:
    """The token bucket in DefaultRouteSettings or one entry of RouteSettings."""
    if not settings or "ThrottlingRateLimit" not in settings:
        return None
    return Throttle(float(settings["ThrottlingRateLimit"]), int(settings["ThrottlingBurstLimit"]))


def read_http_apis(stack: Stack) -> dict[str, HttpApi]:
    """Every HTTP API with its routes.

    Raises:
        TemplateError: an integration or a security scheme that the stage cannot emulate.
    """
    return stack.read("AWS::ApiGatewayV2::Api", lambda id, one: _api(stack, id, one) if "Body" in one else None)


def _api(stack: Stack, id: str, api: Properties) -> HttpApi:
    body, stage = api["Body"], stage_of(stack, id)
    schemes = body.get("components", {}).get("securitySchemes", {})
    authorizers = {
        name: _authorizer(name, scheme["x-amazon-apigateway-authorizer"]) for name, scheme in schemes.items()
    }
    settings = stage.get("RouteSettings", {})
    routes = tuple(
        _route(stack, f"{method.upper()} {path}", operation, settings)
        for path, methods in body["paths"].items()
        for method, operation in methods.items()
    )
    cors = body.get("x-amazon-apigateway-cors")
    check_routes(stage, {route.key for route in routes}, id)
    return HttpApi(id, routes, authorizers, _cors(cors) if cors else None, throttle(stage.get("DefaultRouteSettings")))


def check_routes(stage: Properties, keys: set[str], api_id: str) -> None:
    """Refuse settings of a route that the API does not have, as API Gateway does."""
    if unknown := stage.get("RouteSettings", {}).keys() - keys:
        raise TemplateError(f"RouteSettings of {api_id}: it has no route {', '.join(sorted(unknown))}")


def _route(stack: Stack, key: str, operation: Properties, settings: Properties) -> HttpRoute:
    integration = operation["x-amazon-apigateway-integration"]
    # A list of alternatives; the scheme NONE asks for no token.
    (secured,) = operation.get("security") or [{"NONE": []}]
    ((authorizer, scopes),) = secured.items()
    return HttpRoute(
        key=key,
        function_id=stack.function_id(integration["uri"]),
        authorizer_id=None if authorizer == "NONE" else authorizer,
        scopes=tuple(scopes),
        timeout=int(integration.get("timeoutInMillis", _TIMEOUT_MS)) / 1000,
        throttle=throttle(settings.get(key)),
    )


def _authorizer(name: str, authorizer: Properties) -> JwtAuthorizer:
    settings = authorizer["jwtConfiguration"]  # a template with another authorizer cannot be read
    return JwtAuthorizer(name, settings["issuer"], tuple(_listed(settings["audience"])))


def _cors(cors: Properties) -> Cors:
    return Cors(
        allow_origins=tuple(_listed(cors.get("allowOrigins"))),
        allow_methods=tuple(_listed(cors.get("allowMethods"))),
        allow_headers=tuple(_listed(cors.get("allowHeaders"))),
        expose_headers=tuple(_listed(cors.get("exposeHeaders"))),
        max_age=int(cors["maxAge"]) if "maxAge" in cors else None,
    )


def _listed(value: Any) -> list[str]:
    """A list of texts; a parameter of a list type inside a list makes one list of both."""
    if not isinstance(value, list):
        return [] if value is None else [str(value)]
    return [text for item in value for text in _listed(item)]
