"""The OpenAPI 3.1 document of the HTTP API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from headrace.api.params import names_of
from headrace.api.responses import refusal
from headrace.core.errors import HeadraceError, InvalidRequest, UserError
from tools.api_reference import results
from tools.api_reference.examples import Example, examples_of
from tools.api_reference.names import OPERATION_IDS, event_name, operation_id, title
from tools.api_reference.routes import TITLES, Declared, error_kinds, has_pause, http_routes, mapping, plain
from tools.api_reference.schemas import Models, Schema, parameter, references
from tools.api_reference.texts import text

VERSION = "1.0.0"
REFUSED = results.ref("Refused")
GATEWAY = results.ref("GatewayRefusal")
MEANINGS = {HeadraceError: "A fault of the platform, which is logged.", UserError: InvalidRequest.__doc__}
"""Descriptions of codes whose class is a base class."""
COMMON = ("Refused", "GatewayRefusal")
"""The bodies of refused HTTP requests, the same for all streams."""
OWN_BODY = {"GET /health": 503}
"""Routes with a status other than 200 whose body is their answer, not an error."""
GATEWAYS = dict(re.findall(r"^\| (\d{3}) \| `(.+?)` \|", text("errors"), re.MULTILINE))
"""Statuses with which API Gateway refuses a request itself, and what it says: the table of the introduction."""
GATEWAYS_OWN = "a refusal of API Gateway itself"
RATE_HEADERS = {
    "RateLimit-Policy": "The limit for this request, such as `reads`: `q` in `w` seconds. Missing without one.",
    "RateLimit": "How many `r` are left now, and the seconds `t` until all of them are again.",
}
REFUSING = (400, 403, 404, 429, 503)
"""Statuses of a write without any accepted event."""


def openapi() -> dict[str, Any]:
    """The document, with every route of every function."""
    known = [*OPERATION_IDS]
    routes = sorted(http_routes(), key=lambda each: known.index(each.key) if each.key in known else len(known))
    models = Models(routes)
    paths: dict[str, dict[str, Any]] = {}
    areas = list(dict.fromkeys([*TITLES, *(each.area for each in routes)]))
    for each in sorted(routes, key=lambda each: areas.index(each.area)):
        paths.setdefault(each.path, {})[each.method] = _operation(each, models)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Headrace HTTP API", "version": VERSION, "description": _introduction()},
        "servers": [{"url": "http://127.0.0.1:8787", "description": "The local stage"}],
        "tags": [{"name": title(area), "description": text(area, "")} for area in areas],
        "paths": paths,
    }
    refusals = dict(sorted(_shared(paths).items()))
    events = results.http_schemas(routes, models)
    schemas = {**models.used_by([paths, events]), **results.error_schemas(), **events}
    document["components"] = {
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": text("token")}
        },
        "schemas": dict(sorted(schemas.items())),
        "responses": refusals,
        "headers": {name: {"description": said, "schema": {"type": "string"}} for name, said in RATE_HEADERS.items()},
    }
    return document


def _introduction() -> str:
    """The introduction: limits, the error format, and every code."""
    codes = "\n".join(_codes())
    return "\n\n".join([text("http"), "## Limits", text("limits"), "## Errors", text("errors"), codes])


def _codes() -> Iterator[str]:
    for kind in error_kinds():
        said = plain(MEANINGS.get(kind) or kind.__doc__ or "").replace("retry_after", "retryAfter")
        yield f"- `{mapping(kind).code}` ({mapping(kind).status}): {said}"


def _shared(paths: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Move the refusals that several routes have to the components, and refer to them."""
    shared: dict[str, Any] = {}
    for operation in (each for methods in paths.values() for each in methods.values()):
        for status, response in operation["responses"].items():
            content = response["content"]["application/json"]
            if int(status) < 400 or "examples" not in content:
                continue
            of_stream = [name.removeprefix("Refused") for name in references(content) if name not in COMMON]
            name = "_".join([status, *of_stream, *content["examples"]])
            if shared.setdefault(name, response) == response:
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return shared


def _operation(route: Declared, models: Models) -> dict[str, Any]:
    examples = examples_of(route.key)
    scopes = route.route.scopes
    operation: dict[str, Any] = {
        "operationId": operation_id(route),
        "tags": [title(route.area)],
        "summary": route.summary,
        "description": route.description,
        # Without scopes any valid token is accepted; several scopes are alternatives.
        "security": [] if scopes is None else [{"token": [scope]} for scope in scopes] or [{"token": []}],
        "parameters": _parameters(route, models, examples),
        "requestBody": _request(route, models, examples),
        "responses": _responses(route, models, examples),
    }
    return {name: value for name, value in operation.items() if value or name == "security"}


def _parameters(route: Declared, models: Models, examples: list[Example]) -> list[dict[str, Any]]:
    found = []
    for place, names in (("path", route.path_names), ("query", _names(route, "query"))):
        kind = "event" if place == "path" and route.route.path is None else place
        schema = models.resolved(route.key, kind) if names else {}
        given = examples[0].request[place] if examples else {}
        for name in names:
            described = schema["properties"][name]
            one = {
                "name": name,
                "in": place,
                "required": place == "path" or name in schema.get("required", []),
                "description": described.get("description", ""),
                "schema": parameter(described),
            }
            if one["schema"].get("type") == "array":
                one |= {"style": "form", "explode": False}
                given = {**given, **({name: given[name].split(",")} if name in given else {})}
            if name in given:
                value = given[name]
                one["example"] = int(value) if one["schema"].get("type") == "integer" else value
                if isinstance(value, list):
                    one["example"] = [int(each) for each in value]
            found.append(one)
    return found


def _names(route: Declared, kind: str) -> list[str]:
    model = getattr(route.route, kind)
    return [] if model is None else names_of(model)[0]


def _request(route: Declared, models: Models, examples: list[Example]) -> dict[str, Any] | None:
    body = route.route.body
    if route.route.stream is not None:
        schema = results.request(route)
    elif body is not None:
        schema = models.schema(route.key, "body")
    else:
        return None
    given = {each.name: {"value": each.request["body"]} for each in examples if each.request.get("body") is not None}
    content: dict[str, Any] = {"schema": schema} | ({"examples": given} if given else {})
    is_required = route.route.stream is not None or body is None or not body.is_optional
    return {"required": is_required, "content": {"application/json": content}}


def _responses(route: Declared, models: Models, examples: list[Example]) -> dict[str, Any]:
    answer = results.ref(f"{event_name(route)}Results") if route.route.stream else models.schema(route.key, "answer")
    both = {"anyOf": [answer, GATEWAY]}
    statuses = {route.route.status: answer} | ({OWN_BODY[route.key]: both} if route.key in OWN_BODY else {})
    responses = {
        str(status): _response(
            _said(route, status), schema, _rate_headers(route), [each for each in examples if each.status == status]
        )
        for status, schema in statuses.items()
    }
    by_status: dict[int, list[type[HeadraceError]]] = {}
    for error in route.errors():
        by_status.setdefault(mapping(error).status, []).append(error)
    own = [429, 431, 503, *([413] if route.method != "get" else [])]
    own += [404] if route.path_names else []  # a parameter with a slash is another path
    own += [414] if route.path_names or _names(route, "query") else []
    for status in own:
        by_status.setdefault(status, [])
    for status, kinds in sorted(by_status.items()):
        if str(status) not in responses:
            given = [each for each in examples if each.status == status]
            responses[str(status)] = _refusal(route, status, kinds, given)
    return responses


def _rate_headers(route: Declared) -> dict[str, Any]:
    if route.route.scopes is None:
        return {}
    return {name: {"$ref": f"#/components/headers/{name}"} for name in RATE_HEADERS}


def _said(route: Declared, status: int) -> str:
    if route.route.stream is not None:
        return "At least one event is accepted; each has its own result."
    return (
        "The answer." if status < 300 else f"The same body, while events or reads are not possible; or {GATEWAYS_OWN}."
    )


def _refusal(route: Declared, status: int, kinds: list[type[HeadraceError]], examples: list[Example]) -> dict[str, Any]:
    named = [f"`{mapping(kind).code}`" for kind in kinds]
    own: Schema = REFUSED
    if route.route.stream is not None and status in REFUSING:
        own = results.ref(f"Refused{event_name(route)}s")
    schemas = [own] if kinds else []
    if str(status) in GATEWAYS:
        named.append(GATEWAYS_OWN)
        schemas.append(GATEWAY)
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    headers = _rate_headers(route) if status == 429 else {}
    if any(has_pause(kind) for kind in kinds):
        pause = {"schema": {"type": "integer", "minimum": 1}}
        headers |= {"Retry-After": {"description": "Seconds after which the request may succeed.", **pause}}
    response = _response(" or ".join(named), schema, headers, examples)
    if not examples:
        shown: dict[str, Any] = {
            mapping(kind).code: {"value": refusal(kind("the request cannot be answered"), "")} for kind in kinds
        }
        response["content"]["application/json"]["examples"] = shown or {
            "gateway": {"value": {"message": GATEWAYS[str(status)]}}
        }
    return response


def _response(description: str, schema: Schema, headers: dict[str, Any], examples: list[Example]) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": schema}
    if examples:
        content["examples"] = {each.name: {"value": each.answer} for each in examples}
    return {
        "description": description,
        **({"headers": headers} if headers else {}),
        "content": {"application/json": content},
    }
