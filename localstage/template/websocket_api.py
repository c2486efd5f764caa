"""Reads WebSocket APIs from their routes, integrations, authorizers and route responses."""

from __future__ import annotations

import dataclasses
import logging

from localstage.core.errors import TemplateError
from localstage.core.model import WebSocketApi, WebSocketAuthorizer, WebSocketRoute
from localstage.template.http_api import check_routes, is_http_api, stage_of, throttle
from localstage.template.resources import Resource, Stack

log = logging.getLogger("localstage.template")

_MAX_TIMEOUT_MS = 29_000


def read_websocket_apis(stack: Stack) -> dict[str, WebSocketApi]:
    """Every WebSocket API with its routes.

    Raises:
        TemplateError: an integration or authorizer that the stage cannot emulate, or a route without a target.
    """
    apis = (one for one in stack.all("AWS::ApiGatewayV2::Api") if not is_http_api(one))
    return {api.id: _api(stack, api) for api in apis}


def _api(stack: Stack, api: Resource) -> WebSocketApi:
    own = {
        kind: [one for one in stack.all(f"AWS::ApiGatewayV2::{kind}") if one.text("ApiId") == stack.ref(api.id)]
        for kind in ("Route", "Integration", "Authorizer", "RouteResponse")
    }
    stage = stage_of(stack, api.id)
    if stage is None:
        raise TemplateError(f"{api.id}: there is no AWS::ApiGatewayV2::Stage for it")
    answered = {one.text("RouteId") for one in own["RouteResponse"] if one.text("RouteResponseKey") == "$default"}
    settings = stage.mapping("RouteSettings")
    routes = {}
    for route in own["Route"]:
        made = _route(stack, route, own["Integration"], stack.ref(route.id) in answered)
        limit = throttle(stage.inner(f"RouteSettings.{made.key}", settings.get(made.key, {})))
        routes[made.key] = dataclasses.replace(made, throttle=limit)
    check_routes(settings, routes, stage.id, api.id)
    return WebSocketApi(
        id=api.id,
        stage=stage.text("StageName"),
        selection=api.text("RouteSelectionExpression"),
        routes=routes,
        authorizer=_authorizer(stack, own["Route"], own["Authorizer"]),
        throttle=throttle(stage.inner("DefaultRouteSettings", stage.mapping("DefaultRouteSettings"))),
    )


def _route(stack: Stack, route: Resource, integrations: list[Resource], answered: bool) -> WebSocketRoute:
    target = route.text("Target").removeprefix("integrations/")
    integration = next((one for one in integrations if stack.ref(one.id) == target), None)
    if integration is None:
        raise TemplateError(f"{route.id}.Target: {target} is not an integration of this API")
    function_id = stack.function_id(integration.text("IntegrationUri"))
    if integration.text("IntegrationType") != "AWS_PROXY" or function_id is None:
        raise TemplateError(f"{integration.id}: the local stage routes to functions of this template only")
    selects = route.text("RouteResponseSelectionExpression", "") == "$default"
    if selects and not answered:
        log.warning(
            "%s: no AWS::ApiGatewayV2::RouteResponse for it, so what the function returns is dropped (as on AWS)",
            route.id,
        )
    timeout = integration.integer("TimeoutInMillis", _MAX_TIMEOUT_MS, low=50, high=_MAX_TIMEOUT_MS)
    return WebSocketRoute(route.text("RouteKey"), function_id, selects and answered, timeout / 1000)


def _authorizer(stack: Stack, routes: list[Resource], authorizers: list[Resource]) -> WebSocketAuthorizer | None:
    connect = next((one for one in routes if one.text("RouteKey") == "$connect"), None)
    kind = connect.text("AuthorizationType", "NONE") if connect else "NONE"
    if connect is None or kind == "NONE":
        return None
    authorizer = next((one for one in authorizers if stack.ref(one.id) == connect.text("AuthorizerId", "")), None)
    if kind != "CUSTOM" or authorizer is None or authorizer.text("AuthorizerType") != "REQUEST":
        raise TemplateError(f"{connect.id}.AuthorizationType: the local stage emulates REQUEST authorizers, not {kind}")
    function_id = stack.function_id(authorizer.text("AuthorizerUri"))
    if function_id is None:
        raise TemplateError(f"{authorizer.id}.AuthorizerUri is not a function of this template")
    sources = authorizer.properties.get("IdentitySource") or []
    listed = sources if isinstance(sources, list) else str(sources).split(",")
    return WebSocketAuthorizer(function_id, tuple(str(one).strip() for one in listed))
