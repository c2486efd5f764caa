"""The event of a request to an HTTP API: payload format 2.0."""

from __future__ import annotations

import base64
import time

import pytest
from aws_lambda_powertools.utilities.parser.models import APIGatewayProxyEventV2Model

from tests.contract.localstage.gateway.gateway_fakes import (
    FakeFunctions,
    Serve,
    echoing_functions,  # noqa: F401 - a fixture
    serving,  # noqa: F401 - a fixture
)


async def test_the_event_is_payload_format_2(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("POST /rooms/{roomId}/messages")

    response = await client.post(
        "/rooms/caf%C3%A9%20one/messages?b=2&a=1&a=x%20y&empty=",
        data='{"text": "grüß"}'.encode(),
        headers=[
            ("Content-Type", "application/json; charset=utf-8"),
            ("X-Twice", "one"),
            ("X-Twice", "two"),
            ("User-Agent", "a browser"),
        ],
    )

    (event,) = functions.of("Echo")
    parsed = APIGatewayProxyEventV2Model.model_validate(event)
    assert parsed.requestContext.requestId == response.headers["apigw-requestid"]
    assert abs(parsed.requestContext.timeEpoch.timestamp() - time.time()) < 60
    assert event["version"] == "2.0"
    assert event["routeKey"] == "POST /rooms/{roomId}/messages"
    assert event["rawPath"] == "/rooms/café one/messages"
    assert event["rawQueryString"] == "b=2&a=1&a=x%20y&empty="
    assert event["queryStringParameters"] == {"b": "2", "a": "1,x y", "empty": ""}
    assert event["pathParameters"] == {"roomId": "café one"}
    assert event["body"] == '{"text": "grüß"}'
    assert event["isBase64Encoded"] is False
    assert event["headers"]["x-twice"] == "one,two"
    assert event["headers"]["content-length"] == "18"
    assert event["headers"]["x-forwarded-for"] == "127.0.0.1"
    assert event["headers"]["x-amzn-trace-id"].startswith("Root=1-")
    assert all(name == name.lower() for name in event["headers"])
    context = event["requestContext"]
    assert context["http"] == {
        "method": "POST",
        "path": "/rooms/café one/messages",
        "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1",
        "userAgent": "a browser",
    }
    assert context["stage"] == "$default"
    assert context["routeKey"] == event["routeKey"]
    assert context["domainPrefix"] == context["apiId"]
    assert "authorizer" not in context


@pytest.mark.parametrize(
    ("content_type", "body", "encoded"),
    [
        ("application/json", b"{}", False),
        ("text/plain; charset=utf-8", b"hi", False),
        ("application/xml", b"<a/>", False),
        ("application/x-www-form-urlencoded", b"a=1", True),
        ("application/octet-stream", b"\x00\xff", True),
        ("application/json", b"\xff\xfe", True),
        (None, b"hi", True),
    ],
)
async def test_bodies_are_text_only_for_the_types_that_aws_takes_for_text(
    functions: FakeFunctions, serve: Serve, content_type: str | None, body: bytes, encoded: bool
) -> None:
    client = await serve("POST /")
    headers = {"Content-Type": content_type} if content_type else {}

    await client.post("/", data=body, headers=headers, skip_auto_headers=["Content-Type"])

    (event,) = functions.of("Echo")
    assert event["isBase64Encoded"] is encoded
    assert (base64.b64decode(event["body"]) if encoded else event["body"].encode()) == body
