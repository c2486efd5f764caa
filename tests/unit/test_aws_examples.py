"""Functions read the example events that AWS publishes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from headrace.core.envelope import Envelope
from tests.worlds.senders import CHAT, NOW, message, sender
from tests.worlds.write_path import ROOM_POST, WritePath

ENVELOPE = Envelope("chat", "c-1", NOW, [CHAT.accept(message(), sender()).event]).encode()


def mq_event() -> dict[str, Any]:
    """The record of https://docs.aws.amazon.com/lambda/latest/dg/with-mq.html, for RabbitMQ."""
    properties = {
        "contentType": "text/plain",
        "contentEncoding": None,
        "headers": {
            "header1": {"bytes": list(b"value1")},
            "header2": {"bytes": list(b"value2")},
            "numberInHeader": 10,
        },
        "deliveryMode": 1,
        "priority": 34,
        "correlationId": None,
        "replyTo": None,
        "expiration": "60000",
        "messageId": None,
        "timestamp": "Jan 1, 1970, 12:33:41 AM",
        "type": None,
        "userId": "AIDACKCEVSQ6C2EXAMPLE",
        "appId": None,
        "clusterId": None,
        "bodySize": 80,
    }
    data = base64.b64encode(b'{"timeout":0,"data":"CZrmf0Gw8Ov4bqLQxD4E"}').decode()
    return {
        "eventSource": "aws:rmq",
        "eventSourceArn": "arn:aws:mq:us-west-2:111122223333:broker:pizzaBroker:b-9bcfa592-423a-4942-879d-eb284b418fc8",
        "rmqMessagesByQueue": {
            "pizzaQueue::/": [{"basicProperties": properties, "redelivered": False, "data": data}],
        },
    }


def sqs_event() -> dict[str, Any]:
    """The output of ``sam local generate-event sqs receive-message``."""
    return {
        "Records": [
            {
                "messageId": "19dd0b57-b21e-4ac1-bd88-01bbb068cb78",
                "receiptHandle": "MessageReceiptHandle",
                "body": "Hello from SQS!",
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": "1523232000000",
                    "SenderId": "123456789012",
                    "ApproximateFirstReceiveTimestamp": "1523232000001",
                },
                "messageAttributes": {},
                "md5OfBody": "7b270e59b47ff90a553787216d55d91d",
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:MyQueue",
                "awsRegion": "us-east-1",
            }
        ]
    }


def http_api_event() -> dict[str, Any]:
    """The output of ``sam local generate-event apigateway http-api-proxy``."""
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/path/to/resource",
        "rawQueryString": "parameter1=value1&parameter1=value2&parameter2=value",
        "cookies": ["cookie1", "cookie2"],
        "headers": {"Header1": "value1", "Header2": "value1,value2"},
        "queryStringParameters": {"parameter1": "value1,value2", "parameter2": "value"},
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api-id",
            "authorizer": {
                "jwt": {"claims": {"claim1": "value1", "claim2": "value2"}, "scopes": ["scope1", "scope2"]},
            },
            "domainName": "id.execute-api.us-east-1.amazonaws.com",
            "domainPrefix": "id",
            "http": {
                "method": "POST",
                "path": "/path/to/resource",
                "protocol": "HTTP/1.1",
                "sourceIp": "192.168.0.1/32",
                "userAgent": "agent",
            },
            "requestId": "id",
            "routeKey": "$default",
            "stage": "$default",
            "time": "12/Mar/2020:19:03:58 +0000",
            "timeEpoch": 1583348638390,
        },
        "body": "eyJ0ZXN0IjoiYm9keSJ9",
        "pathParameters": {"parameter1": "value1"},
        "isBase64Encoded": True,
        "stageVariables": {"stageVariable1": "value1", "stageVariable2": "value2"},
    }


def test_a_record_of_amazon_mq_that_is_no_event_goes_to_the_retry_queue() -> None:
    write_path = WritePath()

    write_path.persister.main_lane(mq_event(), lambda: 60)

    assert [record.attributes["reason"] for record in write_path.retry.records] == ["not_an_envelope"]


def test_a_record_of_amazon_mq_with_an_envelope_is_stored() -> None:
    write_path, event = WritePath(), mq_event()
    event["rmqMessagesByQueue"]["pizzaQueue::/"][0]["data"] = base64.b64encode(ENVELOPE).decode()

    write_path.persister.main_lane(event, lambda: 60)

    assert len(write_path.rows()) == 1


def test_a_record_of_sqs_that_is_no_event_stays_in_the_queue() -> None:
    answer = WritePath().persister.retry_lane(sqs_event())

    assert answer == {"batchItemFailures": [{"itemIdentifier": "19dd0b57-b21e-4ac1-bd88-01bbb068cb78"}]}


def test_a_record_of_sqs_with_an_envelope_is_stored_and_leaves_the_queue() -> None:
    write_path, event = WritePath(), sqs_event()
    event["Records"][0]["body"] = ENVELOPE.decode()

    assert write_path.persister.retry_lane(event) == {"batchItemFailures": []}
    assert len(write_path.rows()) == 1


@pytest.mark.parametrize(
    ("claims", "status", "code"),
    [
        ({}, 401, "unauthorized"),
        ({"sub": "alice", "username": "Alice", "scope": "chat:write", "exp": "4102444800"}, 400, "invalid_event"),
    ],
)
def test_a_request_of_an_http_api_gets_an_answer_that_names_what_is_wrong(
    claims: dict[str, str], status: int, code: str
) -> None:
    event = http_api_event() | {"routeKey": ROOM_POST, "rawPath": "/rooms/kitchen/messages"}
    event["pathParameters"] = {"roomId": "kitchen"}
    event["requestContext"]["authorizer"]["jwt"]["claims"] |= claims

    answer = WritePath().post(ROOM_POST, event)

    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (status, code)
