"""Reads WebSocket APIs from their routes, integrations, authorizers and route responses."""

from __future__ import annotations

from localstage.core.model import WebSocketApi, WebSocketAuthorizer, WebSocketRoute
from localstage.template.http_api import check_routes, stage_of, throttle
from localstage.template.resources import Properties, Stack

_TIMEOUT_MS = 29_000


def read_websocket_apis(stack: Stack) -> dict[str, WebSocketApi]:
    """Every WebSocket API with its routes."""
    return stack.read("AWS::ApiGatewayV2::Api", lambda id, one: None if "Body" in one else _api(stack, id, one))


def _api(stack: Stack, id: str, api: Properties) -> WebSocketApi:
    kinds = ("Route", "Integration", "Authorizer", "RouteResponse")
    own = {
        kind: {
            stack.value(name): one
            for name, one in stack.all(f"AWS::ApiGatewayV2::{kind}")
            if one["ApiId"] == stack.value(id)
        }
        for kind in kinds
    }
    stage = stage_of(stack, id)
    settings = stage.get("RouteSettings", {})
    answered = {one["RouteId"] for one in own["RouteResponse"].values()}
    routes = {}
    for reference, route in own["Route"].items():
        key, integration = route["RouteKey"], own["Integration"][route["Target"].removeprefix("integrations/")]
        # What a function returns is dropped without both, as on AWS.
        two_way = "RouteResponseSelectionExpression" in route and reference in answered
        timeout = int(integration.get("TimeoutInMillis", _TIMEOUT_MS)) / 1000
        function_id = stack.function_id(integration["IntegrationUri"])
        routes[key] = WebSocketRoute(key, function_id, two_way, timeout, throttle(settings.get(key)))
    check_routes(stage, set(routes), id)
    return WebSocketApi(
        id=id,
        stage=stage["StageName"],
        selection=api["RouteSelectionExpression"],
        routes=routes,
        authorizer=_authorizer(stack, own["Route"], own["Authorizer"]),
        throttle=throttle(stage.get("DefaultRouteSettings")),
    )


def _authorizer(
    stack: Stack, routes: dict[str, Properties], authorizers: dict[str, Properties]
) -> WebSocketAuthorizer | None:
    connect = next((one for one in routes.values() if one["RouteKey"] == "$connect"), {})
    if connect.get("AuthorizationType", "NONE") == "NONE":
        return None
    authorizer = authorizers[connect["AuthorizerId"]]  # a template with IAM instead cannot be read
    return WebSocketAuthorizer(stack.function_id(authorizer["AuthorizerUri"]), tuple(authorizer["IdentitySource"]))
