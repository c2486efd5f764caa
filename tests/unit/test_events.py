"""The events in events/ are what AWS would send to the functions of this template."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.core.envelope import decode
from headrace.core.errors import PoisonRecord
from headrace.core.stream import TableSettings
from headrace.features.attachments.files import names_of
from rehearsal.events import uploads
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


def test_a_batch_from_rabbitmq_may_hold_events_of_every_stream_and_poison() -> None:
    records = read("persist_events.rabbitmq_mixed.json")["rmqMessagesByQueue"]["persist.chat.0::/"]
    *bodies, poison = [base64.b64decode(record["data"], validate=True) for record in records]

    assert [record["basicProperties"]["bodySize"] for record in records] == [len(body) for body in (*bodies, poison)]
    assert [decode(body).stream for body in bodies] == ["chat", "ski", "ads"]
    with pytest.raises(PoisonRecord):
        decode(poison)


def test_messages_name_the_files_that_the_rehearsal_uploads_and_one_that_is_missing() -> None:
    sent = [
        json.loads(read(f"{name}.json")["body"]) for name in ("receive_http.attachments", "receive_frame.attachments")
    ]
    accepted = [{**each, "userId": "alice"} for batch in sent for each in batch["events"]]
    records = read("persist_events.attachments.json")["rmqMessagesByQueue"]["persist.chat.0::/"]
    bodies = [base64.b64decode(record["data"], validate=True) for record in records]
    queued = [event for body in bodies for event in decode(body).events]

    assert [record["basicProperties"]["bodySize"] for record in records] == [len(body) for body in bodies]
    named = [name for event in (*accepted, *queued) for name in names_of(event)]
    assert [name for name in named if not name.endswith("z" * 26)] == uploads()
    assert len(named) == len(uploads()) + 3


def test_records_from_the_retry_lane_can_be_stored() -> None:
    (record,) = read("persist_events.sqs.json")["Records"]

    assert record["md5OfBody"] == hashlib.md5(record["body"].encode(), usedforsecurity=False).hexdigest()
    assert stored(record["body"]) == 1


def test_the_custom_resource_event_has_the_properties_of_the_template(template_stack: TemplateStack) -> None:
    event = read("declare_topology.create.json")

    assert event["ResourceProperties"].keys() == template_stack.resources["Topology"]["Properties"].keys()
    assert event["ResourceType"] == template_stack.resources["Topology"]["Type"]
