"""The events in events/ are what AWS would send to the functions of this template."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.core.envelope import decode
from headrace.core.stream import TableSettings
from tests.unit.template_stack import ROOT, TemplateStack
from tests.worlds.senders import CHAT

EVENTS = sorted((ROOT / "events").glob("*.json"))
WEBSOCKET = {"authorize_connection", "track_connections", "renew_connection", "receive_frame", "read_frame"}
HTTP = [path.stem for path in EVENTS if " " in json.loads(path.read_text()).get("routeKey", "")]


def read(name: str) -> Any:
    return json.loads((ROOT / "events" / name).read_text())


def stored(body: bytes | str) -> int:
    """The number of rows of an envelope."""
    table = TableSettings(table="table")
    return len([CHAT.item(event, 0, table) for event in decode(body).events])


def test_every_function_has_an_event_and_every_event_a_function(template_stack: TemplateStack) -> None:
    assert {path.name.split(".")[0] for path in EVENTS} == set(template_stack.folders.values())


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.name)
def test_an_event_holds_no_real_token(path: Path) -> None:
    text = path.read_text()

    assert "Bearer ey" not in text
    assert "headrace.v1, ey" not in text


@pytest.mark.parametrize("name", HTTP)
def test_an_http_event_comes_from_a_route_of_its_function(template_stack: TemplateStack, name: str) -> None:
    event = read(f"{name}.json")
    method, path = event["routeKey"].split()

    route = template_stack.resources["HttpApi"]["Properties"]["Body"]["paths"][path][method.lower()]
    uri = route["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
    function = next(logical_id for logical_id, folder in template_stack.folders.items() if folder == name.split(".")[0])
    assert f"${{{function}Aliaslive}}" in uri
    assert event["rawPath"] == path.format(**event.get("pathParameters", {}))


@pytest.mark.parametrize("path", [path for path in EVENTS if path.name.split(".")[0] in WEBSOCKET])
def test_a_websocket_event_comes_from_a_route_of_its_function(template_stack: TemplateStack, path: Path) -> None:
    event = json.loads(path.read_text())
    key = event["requestContext"]["routeKey"]

    integrations = {
        one["RouteKey"]: one["Target"]["Fn::Join"][1][1]["Ref"]
        for one in template_stack.of_type("AWS::ApiGatewayV2::Route").values()
    }
    if not path.name.startswith("authorize"):
        uri = template_stack.resources[integrations[key]]["Properties"]["IntegrationUri"]["Fn::Sub"][1]
        assert template_stack.folders[uri["FunctionArn"]["Fn::GetAtt"][0]] == path.name.split(".")[0]
    if "body" in event:
        assert json.loads(event["body"])["action"] == key


def test_records_from_rabbitmq_can_be_stored() -> None:
    event = read("persist_events.rabbitmq.json")

    (queue, records), *others = event["rmqMessagesByQueue"].items()
    assert (queue, others) == ("persist.chat.0::/", [])
    bodies = [base64.b64decode(record["data"], validate=True) for record in records]
    assert [record["basicProperties"]["bodySize"] for record in records] == [len(body) for body in bodies]
    assert [stored(body) for body in bodies] == [1, 2]
