"""Calls of AWS services: which are tried again, what errors become, and that requests are those of AWS's own client."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.loaders import create_loader
from botocore.parsers import create_parser
from botocore.regions import EndpointResolver
from botocore.retries.standard import ThrottledRetryableChecker, TransientRetryableChecker

from headrace.aws.client import RETRIED_CODES, RETRIED_STATUSES, SERVICES, AwsClient, client, endpoint
from headrace.aws.errors import THROTTLING_CODES, NoAnswer, ServiceError, is_throttling
from headrace.aws.http_client import Response
from headrace.core.errors import ConfigurationError
from headrace.runtime.settings import AwsSettings

FOUND = Response(200, b"http/1.1 200 ok\r\n", b'{"Item":{}}')
KEYS = {"AWS_DEFAULT_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}


class Scripted:
    """Connections that give ``answers`` one after the other, and then the last one again."""

    def __init__(self, *answers: Response | OSError) -> None:
        self._answers = list(answers)
        self.requests: list[bytes] = []
        self.repeatable: list[bool] = []

    def send(self, request: bytes, seconds: float, *, repeatable: bool) -> Response:
        self.requests.append(request)
        self.repeatable.append(repeatable)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


def refused(code: str, status: int = 400) -> Response:
    return Response(status, b"", json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}"}).encode())


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The environment of a function, and the pauses of the client, which take no time."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "_X_AMZN_TRACE_ID"):
        monkeypatch.delenv(name, raising=False)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def scripted(*answers: Response | OSError, service: str = "dynamodb", attempts: int = 2) -> tuple[AwsClient, Scripted]:
    made, connections = client(service, attempts=attempts), Scripted(*answers)
    made.http = connections
    return made, connections


RETRIED = [
    *(refused(code) for code in sorted(RETRIED_CODES)),
    *(refused("Odd", status) for status in sorted(RETRIED_STATUSES)),
    Response(503, b"", b"<html>"),
    ConnectionResetError(),
    TimeoutError(),
    Response(200, b"\r\nx-amz-crc32: 1\r\n", b"{}"),
    Response(200, b"", b"not json"),
]


@pytest.mark.parametrize("answer", RETRIED, ids=repr)
def test_a_transient_failure_is_tried_again(answer: Response | OSError, pauses: list[float]) -> None:
    made, connections = scripted(answer, FOUND)

    assert made.call("PutItem", TableName="Rooms") == {"Item": {}}

    assert connections.requests[0] == connections.requests[1]
    assert len(connections.requests) == 2
    assert 0 <= pauses[0] <= 1


@pytest.mark.parametrize("answer", RETRIED, ids=repr)
def test_the_last_try_fails(answer: Response | OSError) -> None:
    made, connections = scripted(answer, attempts=3)

    with pytest.raises((ServiceError, NoAnswer)):
        made.call("PutItem")

    assert len(connections.requests) == 3


@pytest.mark.parametrize("code", ["ValidationException", "ConditionalCheckFailedException", "AccessDeniedException"])
def test_a_refusal_is_not_tried_again(code: str) -> None:
    made, connections = scripted(refused(code))

    with pytest.raises(ServiceError) as raised:
        made.call("PutItem")

    assert (raised.value.code, raised.value.status, len(connections.requests)) == (code, 400, 1)


def test_retries_are_those_of_botocores_standard_mode() -> None:
    throttled, transient = ThrottledRetryableChecker(), TransientRetryableChecker()

    assert set(throttled._throttled_error_codes) <= RETRIED_CODES
    assert set(transient._transient_error_codes) <= RETRIED_CODES
    assert RETRIED_STATUSES - {429} == set(transient._transient_status_codes)


def test_only_operations_that_change_nothing_may_be_sent_twice() -> None:
    reads = ("GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable", "GetSecretValue", "GetQueueAttributes")
    writes = ("PutItem", "UpdateItem", "BatchWriteItem", "SendMessageBatch", "ReceiveMessage", "DeleteMessageBatch")
    made, connections = scripted(FOUND)

    for operation in (*reads, *writes, "ChangeMessageVisibilityBatch"):
        made.call(operation)

    assert connections.repeatable == [True] * len(reads) + [False] * (len(writes) + 1)


def test_an_answer_with_its_checksum_is_accepted() -> None:
    body = b'{"Item":{}}'
    made, _ = scripted(Response(200, b"\r\nx-amz-crc32: %d\r\n" % crc32(body), body))

    assert made.call("GetItem") == {"Item": {}}


@pytest.mark.parametrize(
    "body",
    [
        b'{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"m"}',
        b'{"__type":"ResourceNotFoundException","Message":"m"}',
        b'{"__type":"com.amazonaws.sqs#QueueDoesNotExist:http://x","message":"m"}',
        b'{"message":"m"}',
        b"<html>",
        b"",
    ],
)
def test_an_error_has_the_code_that_botocore_finds(body: bytes) -> None:
    made, _ = scripted(Response(400, b"", body))
    shape = botocore.session.get_session().get_service_model("dynamodb").shape_for("GetItemOutput")
    parsed = create_parser("json").parse({"status_code": 400, "headers": {}, "body": body}, shape)

    with pytest.raises(ServiceError) as raised:
        made.call("GetItem")

    assert raised.value.code == parsed["Error"]["Code"]


@pytest.mark.parametrize("code", sorted(THROTTLING_CODES))
def test_throttling_is_recognized_by_its_code(code: str) -> None:
    assert is_throttling(ServiceError(code, 400))


def test_other_errors_are_no_throttling() -> None:
    assert not is_throttling(ServiceError("ValidationException", 400))
    assert not is_throttling(NoAnswer("ThrottlingException"))


def test_a_missing_answer_has_the_name_of_its_cause() -> None:
    made, _ = scripted(ConnectionRefusedError("127.0.0.1 refused"))

    with pytest.raises(NoAnswer) as raised:
        made.call("GetItem")

    assert (raised.value.code, str(raised.value)) == ("ConnectionRefusedError", "ConnectionRefusedError")


def test_throttled_calls_pause_longer(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    monkeypatch.setattr("random.uniform", lambda _least, most: most)
    for answer in (refused("ThrottlingException"), ConnectionResetError()):
        with pytest.raises((ServiceError, NoAnswer)):
            scripted(answer, attempts=3)[0].call("GetItem")

    assert pauses == [1, 2, 0.05, 0.1]


@pytest.mark.parametrize("variable", KEYS)
def test_a_missing_variable_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "")

    with pytest.raises(ConfigurationError, match=f"the variable {variable} is missing"):
        client("dynamodb")


@pytest.mark.parametrize("trace", ["Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0;Lineage=1:a87bd80c:0", ""])
def test_the_trace_header_of_the_invocation_is_passed_on(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    made, connections = scripted(FOUND)

    made.call("GetItem")

    head = connections.requests[0].partition(b"\r\n\r\n")[0].decode()
    assert (f"\r\nX-Amzn-Trace-Id: {trace}\r\n" in head) is bool(trace)
    assert "trace-id" not in head.partition("SignedHeaders=")[2]


SETTINGS = {"AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_SQS": "http://sqs"}


def test_an_endpoint_of_the_service_comes_before_the_one_of_all() -> None:
    settings = AwsSettings.read(KEYS | SETTINGS)

    assert [endpoint(name, settings) for name in ("sqs", "dynamodb")] == ["http://sqs", "http://all"]


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
def test_the_endpoint_of_every_region_is_botocores(partition: str) -> None:
    resolver = EndpointResolver(create_loader().load_data("endpoints"))
    for service in SERVICES:
        for region in resolver.get_available_endpoints(service, partition):
            expected = resolver.construct_endpoint(service, region)["hostname"]
            settings = AwsSettings.read(KEYS | {"AWS_DEFAULT_REGION": region})
            assert endpoint(service, settings) == f"https://{expected}"


CALLS: dict[str, dict[str, dict[str, Any]]] = {
    "dynamodb": {
        "GetItem": {"TableName": "Rooms", "Key": {"roomId": {"S": "küche"}}, "ConsistentRead": True},
        "BatchGetItem": {"RequestItems": {"Rooms": {"Keys": [{"roomId": {"S": "a"}}]}}},
        "PutItem": {"TableName": "Rooms", "Item": {"roomId": {"S": "a"}, "seats": {"N": "4"}}},
        "UpdateItem": {"TableName": "Rooms", "Key": {"roomId": {"S": "a"}}, "UpdateExpression": "SET x = :x"},
        "BatchWriteItem": {"RequestItems": {"Rooms": [{"PutRequest": {"Item": {"roomId": {"S": "a"}}}}]}},
        "Query": {"TableName": "Rooms", "KeyConditionExpression": "roomId = :v", "Limit": 20},
        "Scan": {"TableName": "Rooms", "ConsistentRead": True},
        "DescribeTable": {"TableName": "Rooms"},
    },
    "sqs": {
        "SendMessageBatch": {
            "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/1/q",
            "Entries": [
                {
                    "Id": "0",
                    "MessageBody": "grüße",
                    "DelaySeconds": 3,
                    "MessageAttributes": {"reason": {"DataType": "String", "StringValue": "late"}},
                }
            ],
        },
        "ReceiveMessage": {
            "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/1/q",
            "MaxNumberOfMessages": 10,
            "MessageSystemAttributeNames": ["SentTimestamp"],
        },
        "ChangeMessageVisibilityBatch": {
            "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/1/q",
            "Entries": [{"Id": "0", "ReceiptHandle": "r", "VisibilityTimeout": 0}],
        },
        "DeleteMessageBatch": {
            "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/1/q",
            "Entries": [{"Id": "0", "ReceiptHandle": "r"}],
        },
        "GetQueueAttributes": {
            "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/1/q",
            "AttributeNames": ["ApproximateNumberOfMessages"],
        },
    },
    "secretsmanager": {"GetSecretValue": {"SecretId": "arn", "VersionStage": "AWSCURRENT"}},
}
"""Every operation that the layer calls, by service."""


@pytest.mark.parametrize("service", CALLS)
def test_a_request_is_the_one_of_awss_own_client(service: str) -> None:
    made, connections = scripted(FOUND, service=service)
    captured: list[Any] = []

    def before_send(request: Any, **_: Any) -> AWSResponse:
        captured.append(request)
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda *_, **__: iter([b"{}"])))

    usual = botocore.session.get_session().create_client(service, config=Config(retries={"total_max_attempts": 1}))
    usual.meta.events.register(f"before-send.{service}", before_send)
    for operation, parameters in CALLS[service].items():
        made.call(operation, **parameters)
        usual._make_api_call(operation, parameters)

    assert len(captured) == len(connections.requests) == len(CALLS[service])
    for expected, request in zip(captured, connections.requests, strict=True):
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        assert f"https://{headers['host']}{first.split()[1]}" == expected.url
        assert headers["x-amz-target"] == expected.headers["X-Amz-Target"].decode()
        assert headers["content-type"] == expected.headers["Content-Type"].decode()
        assert json.loads(body) == json.loads(expected.body)
