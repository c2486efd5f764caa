"""The API's contract: up to date, accepted by the official validators, and the same as the template and the code."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from headrace.api.router import Api, http_handler
from headrace.core import caller
from headrace.core.errors import ERROR_MAPPINGS
from headrace.core.times import SystemClock
from headrace.live.frames import frames
from tests.unit.template_stack import CLIENT_STREAMS, TemplateStack
from tests.worlds.reference import HTTP, WEBSOCKET, answer_violations, is_error, operation_of, violations
from tests.worlds.requests import Context
from tools.api_reference import texts
from tools.api_reference.__main__ import generated
from tools.api_reference.examples import Example, examples
from tools.api_reference.names import EVENTS, OPERATION_IDS, event_name
from tools.api_reference.results import http_schemas
from tools.api_reference.routes import TITLES, Declared, actions, declared, error_kinds, http_routes, mapping
from tools.api_reference.schemas import Models
from tools.api_reference.scopes import SCOPES

# `schemas/3.0.0-without-$id.json` of the npm package @asyncapi/specs 6.11.1 (Apache-2.0), one definition a line.
ASYNCAPI_SCHEMA = json.loads((Path(__file__).parent / "asyncapi-3.0.0.json").read_text())
NOT_ANSWERED = {"poison"}
"""Codes of dead letters, which no client gets."""
PAGES = generated()


def test_each_area_has_a_title_and_a_section() -> None:
    areas = {each.area for each in http_routes()}

    assert areas - set(TITLES) == set(), "give it a title in TITLES of tools/api_reference/routes.py"
    assert {area for area in areas if not texts.text(area, "")} == set(), (
        "give it a section in tools/api_reference/texts.md"
    )


def test_the_events_of_each_stream_have_a_name() -> None:
    assert set(EVENTS) == {each.name for each in CLIENT_STREAMS}, "name them in EVENTS of tools/api_reference/names.py"


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


def test_a_route_with_a_parameter_documents_the_answer_to_an_address_that_is_too_long() -> None:
    operations = [operation for methods in HTTP["paths"].values() for operation in methods.values()]

    assert operations
    for operation in operations:
        assert ("414" in operation["responses"]) == bool(operation.get("parameters"))


def test_the_functions_declare_every_route_once() -> None:
    keys = [each.key for each in declared()]

    assert len(keys) == len(set(keys))


def test_both_documents_have_every_error_code() -> None:
    codes = {each.code for each in ERROR_MAPPINGS.values()} - NOT_ANSWERED

    for document in (HTTP, WEBSOCKET):
        assert set(document["components"]["schemas"]["ErrorCode"]["enum"]) == codes
    answered = {mapping(kind).code for each in declared() for kind in each.errors()}
    assert answered == codes == {mapping(kind).code for kind in error_kinds()}


def test_every_frame_may_have_a_request_id_as_text_or_number() -> None:
    schemas = WEBSOCKET["components"]["schemas"]
    union = [*schemas["ServerFrame"]["oneOf"], *schemas["ClientFrame"]["oneOf"]]
    frames = {each["$ref"].rpartition("/")[2]: schemas[each["$ref"].rpartition("/")[2]] for each in union}

    without = {name for name, schema in frames.items() if "requestId" not in schema["properties"]}
    assert without == {"Messages", "Changes", "EventsPushed", "Signal"}
    assert schemas["RequestId"]["type"] == ["string", "number"]


def test_every_operation_has_a_name_that_a_method_can_have() -> None:
    ids = [operation["operationId"] for methods in HTTP["paths"].values() for operation in methods.values()]

    assert len(set(ids)) == len(ids) > 40
    assert all(re.fullmatch(r"[a-z]+([A-Z][a-z]+)+", each) for each in ids)
    assert {"listMessages", "inviteMember", "sendMessages"} <= set(ids)
    keys = {each.key for each in http_routes()}
    assert set(OPERATION_IDS) == keys, "name it in OPERATION_IDS of tools/api_reference/names.py"


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


def test_a_field_of_a_request_that_has_a_default_is_not_a_required_one() -> None:
    """Generators make a field with a ``default`` a required one."""
    components = [HTTP["components"]["schemas"], WEBSOCKET["components"]["schemas"]]

    fields = [
        each for document in components for one in document.values() for each in one.get("properties", {}).items()
    ]
    assert fields
    assert not [name for name, schema in fields if "default" in schema]
    assert "default `group`" in HTTP["components"]["schemas"]["RoomRequest"]["properties"]["form"]["description"]


def test_times_of_answers_have_a_format() -> None:
    time = {"type": "string", "format": "date-time"}
    http, websocket = HTTP["components"]["schemas"], WEBSOCKET["components"]["schemas"]

    assert http["MessageItem"]["properties"]["timestamp"] == time
    assert http["AcceptedMessage"]["properties"]["timestamp"] == time
    assert http["ReadMark"]["properties"]["readTo"] == {"$ref": "#/components/schemas/ReadTo"}
    assert websocket["Pong"]["properties"]["tokenExpiresAt"] == time
    assert violations(HTTP, time, "yesterday")
    for document in (HTTP, WEBSOCKET):
        for name, schema in document["components"]["schemas"].items():
            for field, each in schema.get("properties", {}).items():
                assert not field.endswith("At") or "date-time" in json.dumps(each), f"{name}.{field}"


def test_cursors_keys_and_positions_are_schemas_with_names() -> None:
    for document in (HTTP, WEBSOCKET):
        schemas = document["components"]["schemas"]
        assert {"Cursor", "Key", "Position", "CursorOrKey"} <= schemas.keys()
        assert schemas["MessageItem"]["properties"]["key"] == {"$ref": "#/components/schemas/Key"}
    page = HTTP["components"]["schemas"]["RoomMessagePage"]["properties"]
    assert page["next"]["anyOf"][0] == {"$ref": "#/components/schemas/Cursor"}
    assert page["position"] == {"$ref": "#/components/schemas/Position"}
    given = {each["name"]: each["schema"] for each in HTTP["paths"]["/rooms/{roomId}/messages"]["get"]["parameters"]}
    names = {"since": "Position", "cursor": "Cursor", "around": "Key", "before": "CursorOrKey", "after": "CursorOrKey"}
    assert {name: given[name]["$ref"].rpartition("/")[2] for name in names} == names


def test_every_scope_is_described_and_used() -> None:
    texts = {value for name, value in vars(caller).items() if name.isupper() and isinstance(value, str)}
    scopes = texts - {caller.SUBPROTOCOL}
    used = {scope for each in declared() for scope in each.route.scopes or ()}

    assert set(SCOPES) == scopes == used


def test_every_example_in_the_document_has_the_form_of_its_answer() -> None:
    operations = [each for methods in HTTP["paths"].values() for each in methods.values()]
    responses = [each for one in operations for each in one["responses"].values() if "$ref" not in each]
    checked = 0

    for response in [*responses, *HTTP["components"]["responses"].values()]:
        content = response["content"]["application/json"]
        for example in content.get("examples", {}).values():
            assert not violations(HTTP, content["schema"], example["value"])
            checked += 1
    assert checked > len(HTTP["paths"])


@named(http_routes() + actions())
def test_every_route_and_action_has_an_example_that_succeeds(declared: Declared) -> None:
    found = [each for each in examples() if each.key == declared.key and each.status < 300 and not is_error(each)]

    assert found, "add a request to tools/api_reference/requests.yaml; with a stage running: make reference RECORD=1"


def test_a_new_route_for_events_has_schemas_before_it_has_an_example() -> None:
    route = replace(next(each for each in http_routes() if each.route.stream is not None), key="POST /doors/openings")
    found = http_schemas([route], Models([route]))

    assert found["AcceptedMessage"]["required"] == ["lane"]


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


def test_the_frames_that_are_pushed_have_the_form_that_the_document_says() -> None:
    (pushed,) = [each.answer for each in examples() if each.key == "messages"]

    for missed in (False, True):
        for frame in frames(pushed["roomId"], pushed["items"], missed=missed):
            assert not violations(
                WEBSOCKET, WEBSOCKET["components"]["messages"]["messages"]["payload"], json.loads(frame)
            )


@named([each for each in http_routes() if each.route.batch])
@pytest.mark.parametrize("more", [0, 1])
def test_a_batch_may_have_as_many_events_as_the_document_says(declared: Declared, more: int) -> None:
    batch = HTTP["components"]["schemas"][f"{event_name(declared)}Batch"]
    events: list[dict[str, Any]] = [{}] * (batch["properties"]["events"]["maxItems"] + more)
    claims = {"sub": "p", "scope": "events:write", "exp": "4102444800"}
    event = {
        "routeKey": declared.key,
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": claims}}},
        "body": json.dumps({"events": events}),
    }

    answer = http_handler(Api({declared.key: declared.route}, lambda: None, SystemClock()))(event, Context())

    assert (json.loads(answer["body"])["error"]["code"] == "too_large") == bool(more)
