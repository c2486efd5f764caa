"""An HTTP API over loopback: routes, events, answers, limits."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.parser.models import APIGatewayProxyEventV2Model
from gateway_fakes import FakeFunctions, Raises, http_model, running

from localstage.errors import PortTaken, StageError
from localstage.gateway import Gateway
from localstage.model import HttpRoute, StageModel, Throttle

Serve = Callable[..., Any]


@pytest.fixture
def functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Echo"] = lambda event: {"statusCode": 200, "body": event["routeKey"]}
    return made


@pytest.fixture
async def serve(functions: FakeFunctions, tmp_path: Path) -> AsyncIterator[Serve]:
    """Serves routes to Echo (or a whole model) and returns a client session based at the API."""
    async with AsyncExitStack() as stack:

        async def start(*routes: str | HttpRoute, **api: Any) -> aiohttp.ClientSession:
            declared = [HttpRoute(route, "Echo", None) if isinstance(route, str) else route for route in routes]
            gateway = await stack.enter_async_context(running(http_model(*declared, **api), functions, tmp_path))
            return await stack.enter_async_context(aiohttp.ClientSession(gateway.http_url))

        yield start


async def test_the_event_is_payload_format_2(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("POST /rooms/{roomId}/messages")

    await client.post(
        "/rooms/caf%C3%A9%20one/messages?b=2&a=1&a=x%20y&empty=",
        data='{"text": "grüß"}'.encode(),
        headers=[
            ("Content-Type", "application/json; charset=utf-8"),
            ("X-Twice", "one"),
            ("X-Twice", "two"),
            ("Cookie", "first=1; second=2"),
            ("User-Agent", "a browser"),
        ],
    )

    (event,) = functions.of("Echo")
    assert event["version"] == "2.0"
    assert event["routeKey"] == "POST /rooms/{roomId}/messages"
    assert event["rawPath"] == "/rooms/café one/messages"
    assert event["rawQueryString"] == "b=2&a=1&a=x%20y&empty="
    assert event["cookies"] == ["first=1", "second=2"]
    assert event["queryStringParameters"] == {"b": "2", "a": "1,x y", "empty": ""}
    assert event["pathParameters"] == {"roomId": "café one"}
    assert event["body"] == '{"text": "grüß"}'
    assert event["isBase64Encoded"] is False
    assert event["headers"]["x-twice"] == "one,two"
    assert event["headers"]["content-length"] == "18"
    assert event["headers"]["x-forwarded-for"] == "127.0.0.1"
    assert event["headers"]["x-amzn-trace-id"].startswith("Root=1-")
    assert "cookie" not in event["headers"]
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


async def test_the_event_is_what_powertools_models_expect(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("ANY /{proxy+}")
    before = time.time()

    async with client.put("/a/b?x=1", json={"a": 1}) as response:
        request_id = response.headers["apigw-requestid"]

    (event,) = functions.of("Echo")
    parsed = APIGatewayProxyEventV2Model.model_validate(event)
    assert parsed.requestContext.requestId == request_id
    assert before - 0.001 <= parsed.requestContext.timeEpoch.timestamp() <= time.time()
    viewed = APIGatewayProxyEventV2(event)
    assert viewed.http_method == "PUT"
    assert viewed.path == "/a/b"
    assert viewed.json_body == {"a": 1}
    assert viewed.request_context.time.endswith(" +0000")


async def test_what_a_request_does_not_have_is_not_in_the_event(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("GET /")

    await client.get("/")

    (event,) = functions.of("Echo")
    assert {"cookies", "queryStringParameters", "pathParameters", "stageVariables", "body"}.isdisjoint(event)


async def test_a_named_stage_is_the_first_segment_and_stays_in_the_path(
    functions: FakeFunctions, tmp_path: Path
) -> None:
    model = http_model(HttpRoute("GET /hello", "Echo", None), stage="dev")
    async with running(model, functions, tmp_path) as gateway, aiohttp.ClientSession() as client:
        assert gateway.http_url is not None
        assert gateway.http_url.endswith("/dev")

        async with client.get(f"{gateway.http_url}/hello") as inside:
            assert inside.status == 200
        async with client.get(f"{gateway.http_url.removesuffix('/dev')}/hello") as outside:
            assert outside.status == 404

    (event,) = functions.of("Echo")
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/dev/hello"
    assert event["requestContext"]["stage"] == "dev"


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


async def test_a_compressed_body_is_passed_on_as_it_came(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("POST /")

    await client.post("/", data=b"a" * 100, compress="gzip", headers={"Content-Type": "text/plain"})

    (event,) = functions.of("Echo")
    assert base64.b64decode(event["body"])[:2] == b"\x1f\x8b"


@pytest.mark.parametrize(
    ("answer", "status", "content_type", "body"),
    [
        ({"statusCode": 201, "body": "made"}, 201, "text/plain; charset=UTF-8", "made"),
        (
            {"statusCode": "202", "body": "{}", "headers": {"content-type": "application/json"}},
            202,
            "application/json",
            "{}",
        ),
        ({"statusCode": 204}, 204, None, ""),
        ({"hello": "world"}, 200, "application/json", '{"hello": "world"}'),
        ("hello", 200, "application/json", "hello"),
        ([1, 2], 200, "application/json", "[1, 2]"),
        (None, 200, "application/json", "null"),
        ({"statusCode": 200, "body": "aGk=", "isBase64Encoded": True}, 200, "text/plain;charset=UTF-8", "hi"),
    ],
)
async def test_answers_become_responses(
    functions: FakeFunctions, serve: Serve, answer: Any, status: int, content_type: str | None, body: str
) -> None:
    functions.handlers["Echo"] = lambda event: answer
    client = await serve("GET /")

    async with client.get("/") as response:
        assert response.status == status
        assert response.headers.get("Content-Type", "").replace(" ", "") == (content_type or "").replace(" ", "")
        assert await response.text() == body


async def test_headers_and_cookies_of_an_answer_reach_the_client(functions: FakeFunctions, serve: Serve) -> None:
    functions.handlers["Echo"] = lambda event: {
        "statusCode": 200,
        "headers": {"X-Number": 7, "X-Flag": True, "Content-Length": "999"},
        "cookies": ["a=1; HttpOnly", "b=2"],
        "body": "x",
    }
    client = await serve("GET /")

    async with client.get("/") as response:
        assert response.headers["X-Number"] == "7"
        assert response.headers["X-Flag"] == "true"
        assert response.headers.getall("Set-Cookie") == ["a=1; HttpOnly", "b=2"]
        assert await response.read() == b"x"


async def test_an_answer_of_megabytes_reaches_the_client(functions: FakeFunctions, serve: Serve) -> None:
    functions.handlers["Echo"] = lambda event: {"statusCode": 200, "body": "x" * 5_000_000}
    client = await serve("GET /")

    async with client.get("/") as response:
        assert len(await response.read()) == 5_000_000


@pytest.mark.parametrize(
    "answer",
    [
        {"statusCode": "soon"},
        {"statusCode": 99},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "headers": "none"},
        {"statusCode": 200, "headers": {"a": ["b"]}},
        {"statusCode": 200, "headers": {"a": "b\r\nSet-Cookie: c"}},
        {"statusCode": 200, "cookies": "a=1"},
        {"statusCode": 200, "body": "!", "isBase64Encoded": True},
        b"not json",
        Raises(),
        Raises("TimedOut"),
        b'"' + b"x" * (6 * 1024 * 1024) + b'"',
    ],
)
async def test_a_failure_or_a_malformed_answer_is_a_500(functions: FakeFunctions, serve: Serve, answer: Any) -> None:
    functions.handlers["Echo"] = lambda event: answer
    client = await serve("GET /")

    async with client.get("/") as response:
        assert response.status == 500
        assert await response.json() == {"message": "Internal Server Error"}
        assert response.headers["apigw-requestid"]


async def test_a_function_that_cannot_be_started_is_a_500_and_its_reason_is_logged_once(
    functions: FakeFunctions, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Any) -> Any:
        raise StageError("no room")

    functions.handlers["Echo"] = fail
    client = await serve("GET /")

    for _ in range(3):
        async with client.get("/") as response:
            assert response.status == 500

    assert caplog.text.count("Echo could not run: no room") == 1


async def test_an_integration_timeout_is_a_503_and_does_not_stop_the_function(
    functions: FakeFunctions, serve: Serve
) -> None:
    go_on = asyncio.Event()

    async def slow(event: Any) -> Any:
        await go_on.wait()
        return {"statusCode": 200}

    functions.handlers["Slow"] = slow
    client = await serve(HttpRoute("GET /", "Slow", None, timeout=0.05))

    async with client.get("/") as response:
        assert response.status == 503
        assert await response.json() == {"message": "Service Unavailable"}

    go_on.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert functions.finished == ["Slow"]


@pytest.mark.parametrize(
    ("request_line", "route"),
    [
        ("GET /pets/dog/1", "GET /pets/dog/1"),
        ("GET /pets/dog/2", "GET /pets/dog/{id}"),
        ("POST /pets/dog/2", "ANY /pets/dog/{id}"),
        ("GET /pets/cat/2", "GET /pets/{proxy+}"),
        ("GET /pets/dog/2/3", "GET /pets/{proxy+}"),
        ("DELETE /pets/cat", "ANY /{proxy+}"),
        ("GET /", "$default"),
    ],
)
async def test_the_most_specific_route_takes_a_request(serve: Serve, request_line: str, route: str) -> None:
    client = await serve(
        "$default",
        "ANY /{proxy+}",
        "GET /pets/{proxy+}",
        "ANY /pets/dog/{id}",
        "GET /pets/dog/{id}",
        "GET /pets/dog/1",
    )
    method, path = request_line.split()

    async with client.request(method, path) as response:
        assert await response.text() == route


async def test_no_route_is_a_404(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("GET /rooms/{roomId}")

    for method, path in [("GET", "/"), ("POST", "/rooms/1"), ("GET", "/rooms/"), ("GET", "/rooms/1/"), ("GET", "/x")]:
        async with client.request(method, path) as response:
            assert response.status == 404, path
            assert await response.json() == {"message": "Not Found"}
    assert functions.events == []


async def test_a_path_that_is_not_utf8_is_a_400(serve: Serve) -> None:
    client = await serve("$default")

    async with client.get(aiohttp.client.URL("/%ff", encoded=True)) as response:
        assert response.status == 400


async def test_more_than_the_throttle_allows_is_a_429(serve: Serve) -> None:
    client = await serve(
        HttpRoute("GET /slow", "Echo", None, throttle=Throttle(rate=0.0001, burst=2)), "GET /free", throttle=None
    )

    statuses = []
    for _ in range(3):
        async with client.get("/slow") as response:
            statuses.append(response.status)
            answer = await response.text()
    async with client.get("/free") as response:
        free = response.status

    assert statuses == [200, 200, 429]
    assert json.loads(answer) == {"message": "Too Many Requests"}
    assert free == 200


async def test_the_stages_throttle_counts_all_routes_without_their_own(serve: Serve) -> None:
    client = await serve("GET /a", "GET /b", throttle=Throttle(rate=0.0001, burst=1))

    async with client.get("/a") as first, client.get("/b") as second:
        assert (first.status, second.status) == (200, 429)


@pytest.mark.parametrize("size", [6 * 1024 * 1024, 10 * 1024 * 1024 + 1])
async def test_a_body_over_lambdas_6_mb_or_the_gateways_10_mb_is_a_413(
    functions: FakeFunctions, serve: Serve, size: int
) -> None:
    client = await serve("POST /")

    async with client.post("/", data=io.BytesIO(b"x" * size), headers={"Content-Type": "text/plain"}) as response:
        assert response.status == 413
        assert await response.json() == {"message": "Request Entity Too Large"}
    assert functions.events == []


async def test_a_body_of_unknown_length_is_measured_while_it_comes(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("POST /")

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 1024 * 1024

    async with client.post("/", data=chunks()) as response:
        assert response.status == 413
    assert functions.events == []


async def test_a_client_that_expects_100_continue_gets_it(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("POST /")

    async with client.post("/", data="hi", headers={"Content-Type": "text/plain"}, expect100=True) as response:
        assert response.status == 200
    assert functions.of("Echo")[0]["body"] == "hi"


async def test_request_line_and_headers_may_have_10240_bytes(serve: Serve) -> None:
    client = await serve("$default")

    async with client.get("/", headers={"X-Big": "x" * 9_000}) as fits:
        assert fits.status == 200
    async with client.get("/", headers={"X-A": "x" * 6_000, "X-B": "x" * 6_000}) as headers:
        assert headers.status == 431
    async with client.get("/" + "x" * 11_000) as line:
        assert line.status == 414


async def test_what_is_not_http_is_a_400_without_a_traceback(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    client = await serve("$default")
    url = client._base_url
    assert url is not None
    reader, writer = await asyncio.open_connection(url.host, url.port)

    writer.write(b"nonsense\r\n\r\n")
    answer = await reader.read()
    writer.close()

    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert answer.endswith(b'{"message":"Bad Request"}')
    assert "Traceback" not in caplog.text


async def test_routes_are_replaced_while_serving(functions: FakeFunctions, tmp_path: Path) -> None:
    before, after = (http_model(HttpRoute(key, "Echo", None)) for key in ("GET /old", "GET /new"))
    async with running(before, functions, tmp_path) as gateway, aiohttp.ClientSession() as client:
        url = gateway.http_url

        await gateway.replace(after)

        assert gateway.http_url == url
        async with client.get(f"{url}/old") as old, client.get(f"{url}/new") as new:
            assert (old.status, new.status) == (404, 200)

        await gateway.replace(StageModel())
        assert gateway.http_url is None


async def test_each_api_of_a_template_has_a_port_of_its_own(functions: FakeFunctions, tmp_path: Path) -> None:
    first = http_model(HttpRoute("GET /", "Echo", None)).http_apis["HttpApi"]
    model = StageModel(http_apis={"HttpApi": first, "OtherApi": first})

    async with running(model, functions, tmp_path) as gateway, aiohttp.ClientSession() as client:
        assert len(set(gateway.http_urls.values())) == 2
        for url in gateway.http_urls.values():
            async with client.get(url) as response:
                assert response.status == 200


async def test_a_taken_port_is_one_clear_error_and_leaves_nothing_running(
    functions: FakeFunctions, tmp_path: Path
) -> None:
    model = http_model(HttpRoute("GET /", "Echo", None))
    async with running(model, functions, tmp_path) as gateway:
        assert gateway.http_url is not None
        port = int(gateway.http_url.rsplit(":", 1)[1])

        with pytest.raises(PortTaken, match=f"Port {port} on 127.0.0.1 is in use"):
            await Gateway(model, functions, state_dir=tmp_path / "other", http_port=port).start()
