"""The API's contract: up to date, accepted by the official validators, and the same as the template and the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from headrace.api.error_bodies import ERROR_MAPPINGS
from headrace.api.router import Api, http_handler
from headrace.core import caller
from headrace.core.times import SystemClock
from tests.unit.template_stack import TemplateStack
from tests.worlds.reference import HTTP, WEBSOCKET, answer_violations, is_error, operation_of, violations
from tests.worlds.requests import Context, http_event
from tools.api_reference.__main__ import generated
from tools.api_reference.access import SCOPES
from tools.api_reference.examples import Example, examples
from tools.api_reference.names import event_name
from tools.api_reference.routes import Declared, actions, declared, error_kinds, http_routes, mapping

# `schemas/3.0.0-without-$id.json` of the npm package @asyncapi/specs 6.11.1 (Apache-2.0), one definition a line.
ASYNCAPI_SCHEMA = json.loads((Path(__file__).parent / "asyncapi-3.0.0.json").read_text())
NOT_ANSWERED = {"poison"}
"""Codes of dead letters, which no client gets."""
PAGES = generated()


def named(routes: list[Declared]) -> Any:
    return pytest.mark.parametrize("declared", routes, ids=lambda each: each.key)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_reference_is_up_to_date(path: Path) -> None:
    assert path.exists(), "run: make reference"
    assert path.read_text() == PAGES[path], "run: make reference"


def test_the_validator_of_openapi_accepts_the_document() -> None:
    assert list(map(str, OpenAPIV31SpecValidator(HTTP).iter_errors())) == []


def test_the_schema_of_asyncapi_accepts_the_document() -> None:
    assert [each.message for each in Draft7Validator(ASYNCAPI_SCHEMA).iter_errors(WEBSOCKET)] == []


def test_the_document_has_the_http_routes_of_the_template_with_their_scopes(template_stack: TemplateStack) -> None:
    api = template_stack.resources["HttpApi"]["Properties"]["Body"]
    template = {
        (method, _without_names(path)): [
            sorted(_scope(each) for each in scopes) for one in operation["security"] for scopes in one.values()
        ]
        if operation.get("security") and "NONE" not in operation["security"][0]
        else []
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
        if method != "options"
    }
    document = {
        (method, _without_names(path)): operation["security"]
        for path, methods in HTTP["paths"].items()
        for method, operation in methods.items()
    }

    assert document.keys() == template.keys()
    for route, security in document.items():
        scopes = sorted(scope for each in security for scope in each["token"])
        assert [scopes] * bool(scopes) == template[route], route


def _without_names(path: str) -> str:
    """The template may name a parameter otherwise."""
    return re.sub(r"{\w+}", "{}", path)


def _scope(written: Any) -> str:
    return str(written["Fn::Sub"] if isinstance(written, dict) else written).removeprefix("${ScopePrefix}")


def test_the_document_has_the_actions_of_the_template(template_stack: TemplateStack) -> None:
    keys = {one["RouteKey"] for one in template_stack.of_type("AWS::ApiGatewayV2::Route").values()}
    received = {name for name, one in WEBSOCKET["operations"].items() if "reply" in one}

    assert received == {key for key in keys if not key.startswith("$")}


def test_the_functions_declare_every_route_once() -> None:
    keys = [each.key for each in declared()]

    assert len(keys) == len(set(keys))


def test_both_documents_have_every_error_code() -> None:
    codes = {each.code for each in ERROR_MAPPINGS.values()} - NOT_ANSWERED

    for document in (HTTP, WEBSOCKET):
        assert set(document["components"]["schemas"]["ErrorCode"]["enum"]) == codes
    answered = {mapping(kind).code for each in declared() for kind in each.errors()}
    assert answered == codes == {mapping(kind).code for kind in error_kinds()}


def test_every_frame_is_in_one_union_whose_members_a_constant_tells_apart() -> None:
    schemas, messages = WEBSOCKET["components"]["schemas"], WEBSOCKET["components"]["messages"]
    found = {}
    for name in ("ServerFrame", "ClientFrame"):
        union = schemas[name]
        names = [each["$ref"].rpartition("/")[2] for each in union["oneOf"]]
        constants = [schemas[each]["properties"][union["discriminator"]]["const"] for each in names]
        found |= dict.fromkeys(names, name)
        assert len(constants) == len(set(constants)) == len(names)

    assert found.keys() == {each["title"] for each in messages.values()} - {"GatewayErrorFrame"}
    for name, message in messages.items():
        if message["title"] in found:
            direction = "ClientFrame" if name in WEBSOCKET["operations"] else "ServerFrame"
            assert found[message["title"]] == direction


def test_every_scope_is_described_and_used() -> None:
    scopes = {value for name, value in vars(caller).items() if name.isupper() and isinstance(value, str)}
    used = {scope for each in declared() for scope in each.route.scopes or ()}

    assert set(SCOPES) == scopes == used


@named(http_routes() + actions())
def test_every_route_and_action_has_an_example_that_succeeds(declared: Declared) -> None:
    found = [each for each in examples() if each.key == declared.key and each.status < 300 and not is_error(each)]

    assert found, "add a request to tools/api_reference/requests.yaml; with a stage running: make reference RECORD=1"


@pytest.mark.parametrize("example", examples(), ids=lambda each: f"{each.key}-{each.name}")
def test_every_recorded_answer_has_the_form_that_the_document_says(example: Example) -> None:
    assert not answer_violations(example)


@pytest.mark.parametrize("example", examples(), ids=lambda each: f"{each.key}-{each.name}")
def test_every_recorded_request_has_the_form_that_the_document_says(example: Example) -> None:
    """Those that were refused as invalid do not, if the schema can say it."""
    if example.name.startswith("invalid") or not example.request:
        return
    body = example.request["body"]
    if " " not in example.key:
        assert not violations(WEBSOCKET, WEBSOCKET["components"]["messages"][example.key]["payload"], body)
        return
    operation = operation_of(example)
    parameters = {(each["in"], each["name"]): each["schema"] for each in operation.get("parameters", [])}
    for place in ("path", "query"):
        for name, text in example.request[place].items():
            schema = parameters[place, name]
            kind = schema.get("type")
            value: Any = int(text) if kind == "integer" else text
            value = list(map(int, text.split(","))) if kind == "array" else value
            assert not violations(HTTP, schema, value), name
    if body is not None and "not_found" not in example.name:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        items = [each for each in body.get("events", []) if "#" in str(each.get("roomId"))]
        assert bool(violations(HTTP, schema, body)) == bool(items)


@named([each for each in http_routes() if each.route.batch])
@pytest.mark.parametrize("more", [0, 1])
def test_a_batch_may_have_as_many_events_as_the_document_says(declared: Declared, more: int) -> None:
    batch = HTTP["components"]["schemas"][f"{event_name(declared)}Batch"]
    events: list[dict[str, Any]] = [{}] * (batch["properties"]["events"]["maxItems"] + more)
    event = http_event(declared.key, {"events": events}, scope="events:write")

    answer = http_handler(Api({declared.key: declared.route}, lambda: None, SystemClock()))(event, Context())

    assert (json.loads(answer["body"])["error"]["code"] == "too_large") == bool(more)
