"""Hot calls leave boto3's way, and every other call of the same client keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.runtime.aws import AwsClient, AwsError, NoAnswer, call, client
from headrace.storage.dynamodb import direct
from headrace.storage.dynamodb.client import DynamoTable, from_wire, to_wire
from headrace.storage.dynamodb.direct import IDLE_SECONDS, send_directly
from tests.contract.emulators import function_environment
from tests.contract.http_server import HttpServer, certificate_of, status, trusted
from tests.contract.tables import described, made
from tests.worlds.ports import free_port

TABLE = "Direct"
ROW = {"roomId": "кухня", "count": 7}
QUERY: dict[str, Any] = {
    "TableName": TABLE,
    "KeyConditionExpression": "roomId = :room",
    "ExpressionAttributeValues": {":room": {"S": "кухня"}},
}


@pytest.fixture
def table(aws: str) -> Iterator[str]:
    with made(described(TABLE, "roomId")):
        yield aws


def direct_client(plain: AwsClient) -> AwsClient:
    """``plain``, which sends its hot calls directly, set up twice as by two of its users."""
    send_directly(plain)
    send_directly(plain)
    return plain


@pytest.mark.usefixtures("table")
def test_hot_calls_answer_as_those_of_a_plain_client() -> None:
    direct, plain = direct_client(client("dynamodb")), client("dynamodb")
    key = to_wire({"roomId": ROW["roomId"]})
    written = call(direct.batch_write_item, RequestItems={TABLE: [{"PutRequest": {"Item": to_wire(ROW)}}]})

    found = [call(each.query, **QUERY)["Items"] for each in (direct, plain)]
    found += [
        call(each.batch_get_item, RequestItems={TABLE: {"Keys": [key]}})["Responses"][TABLE] for each in (direct, plain)
    ]
    found += [[call(each.get_item, TableName=TABLE, Key=key)["Item"]] for each in (direct, plain)]

    assert written["UnprocessedItems"] == {}
    assert [[from_wire(row) for row in rows] for rows in found] == [[ROW]] * 6


@pytest.mark.usefixtures("table")
def test_a_put_is_as_that_of_a_plain_client_also_when_its_condition_fails() -> None:
    row, other = to_wire(ROW), to_wire({"roomId": ROW["roomId"]})
    condition = {
        "ConditionExpression": "attribute_not_exists(roomId)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }

    call(direct_client(client("dynamodb")).put_item, TableName=TABLE, Item=row, **condition)
    with pytest.raises(AwsError) as raised:
        call(direct_client(client("dynamodb")).put_item, TableName=TABLE, Item=other, **condition)

    assert call(client("dynamodb").query, **QUERY)["Items"] == [row]
    assert (raised.value.code, raised.value.item) == ("ConditionalCheckFailedException", row)


def test_a_condition_that_does_not_hold_is_tried_once_by_a_client_of_our_own(server: HttpServer) -> None:
    said = {"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "it failed"}
    server.answer = lambda _: answer(json.dumps(said).encode(), b"400 Bad Request")
    table = DynamoTable(client("dynamodb"), TABLE, "rows")

    assert not table.update_if("topic = :topic", {"roomId": "x"}, "SET topic = :topic", {":topic": "чай"})
    assert len(server.received) == 1


@pytest.mark.usefixtures("table")
def test_a_refusal_has_its_code() -> None:
    with pytest.raises(AwsError) as raised:
        call(direct_client(client("dynamodb")).query, **QUERY | {"TableName": "Nowhere"})

    assert raised.value.code == "ResourceNotFoundException"


def test_the_certificates_of_the_ca_bundle_are_trusted(
    aws: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, context = certificate_of(tmp_path)
    server = HttpServer(context)
    server.answer = lambda _request: answer(b'{"Items":[],"Count":0}')
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://localhost:{server.port}")

    with trusted(certificate, monkeypatch):
        assert call(direct_client(client("dynamodb", attempts=1)).query, **QUERY)["Items"] == []
    with pytest.raises(NoAnswer):
        call(direct_client(client("dynamodb", attempts=1)).query, **QUERY)
    assert len(server.received) == 1
    server.close()


@pytest.mark.usefixtures("table")
def test_a_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("NO_PROXY", "")
    behind = direct_client(client("dynamodb", attempts=1))

    with pytest.raises(NoAnswer) as raised:
        call(behind.query, **QUERY)

    assert raised.value.code == "ProxyConnectionError"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpServer]:
    """An endpoint of DynamoDB."""
    made = HttpServer()
    function_environment(monkeypatch, f"http://127.0.0.1:{made.port}")
    yield made
    made.close()


def answer(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nx-amzn-requestid: 1\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


def test_a_page_of_a_megabyte_is_read(server: HttpServer) -> None:
    items = [{"text": {"S": "x" * 1000}}] * 1000
    server.answer = lambda _: answer(json.dumps({"Items": items}).encode())

    assert call(direct_client(client("dynamodb")).query, **QUERY)["Items"] == items
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "first",
    [
        b"",
        answer(b'{"It'),
        b"HTTP/1.1 200 OK\r\nx-amzn-requestid: 1\r\n\r\n",
        status(503),
        status(400, b'{"__type":"ThrottlingException"}'),
    ],
    ids=["closed", "no JSON", "no length", "503", "throttled"],
)
def test_the_client_makes_a_call_again_that_fails_at_once(server: HttpServer, first: bytes) -> None:
    answers = iter([first])
    server.answer = lambda _: next(answers, answer(b'{"Items":[]}'))

    assert call(direct_client(client("dynamodb")).query, **QUERY)["Items"] == []
    assert len(server.received) == 2


def test_a_call_without_an_answer_in_time_is_made_as_often_as_the_client_makes_it(server: HttpServer) -> None:
    server.answer = lambda _: None

    with pytest.raises(NoAnswer) as raised:
        call(direct_client(client("dynamodb", timeout=0.2, attempts=2)).query, **QUERY)

    assert raised.value.code == "ReadTimeoutError"
    assert len(server.received) == 2


def test_after_a_call_without_an_answer_in_time_the_client_spends_no_more_time(server: HttpServer) -> None:
    answers = iter([None, b""])
    server.answer = lambda _: next(answers, None)

    with pytest.raises(NoAnswer) as raised:
        call(direct_client(client("dynamodb", timeout=0.2, attempts=2)).query, **QUERY)

    assert raised.value.code == "ConnectionClosedError"
    assert len(server.received) == 2


@pytest.mark.parametrize("code", ["ThrottlingException", "ValidationException"])
def test_a_refusal_after_a_call_without_an_answer_in_time_has_its_code(server: HttpServer, code: str) -> None:
    answers = iter([None, answer(b'{"__type":"com.amazon.coral#%b"}' % code.encode(), b"400 Bad Request")])
    server.answer = lambda _: next(answers, None)

    with pytest.raises(AwsError) as raised:
        call(direct_client(client("dynamodb", timeout=0.2, attempts=2)).query, **QUERY)

    assert raised.value.code == code
    assert len(server.received) == 2


def test_an_answer_that_is_not_from_aws_is_none(server: HttpServer) -> None:
    server.answer = lambda _: status(200, b"{}")

    with pytest.raises(NoAnswer) as raised:
        call(direct_client(client("dynamodb")).query, **QUERY)

    assert raised.value.code == "NotFromAws"


def test_a_connection_that_was_idle_for_a_minute_is_replaced(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen environment does not see that the other side closes its connections."""
    clock = SimpleNamespace(now=0.0)
    server.answer = lambda _: answer(b'{"Items":[]}')
    monkeypatch.setattr(direct, "time", SimpleNamespace(time=lambda: clock.now))
    calls, opened = direct_client(client("dynamodb")), []

    for clock.now in (0.0, IDLE_SECONDS - 1, 2 * IDLE_SECONDS):
        call(calls.query, **QUERY)
        opened.append(server.connections)

    assert opened == [1, 1, 2]
