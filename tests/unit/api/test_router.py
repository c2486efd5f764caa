"""The router checks the caller and the parameters of every route, logs, counts, and maps errors to answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import TypeAdapter

from headrace.api.params import AnyBody, Params
from headrace.api.router import Api, Reply, Request, Route, connection_handler, frame_handler, http_handler
from headrace.api.statistics import RequestTimes
from headrace.core.errors import ConfigurationError, Forbidden, NotFound, RateLimited, StoreUnavailable
from headrace.runtime.aws import AwsError
from headrace.runtime.observability import LogThrottle
from tests.fakes.clock import FixedClock
from tests.worlds.functions import FUNCTIONS, app
from tests.worlds.senders import NOW

CLOCK = FixedClock(NOW)
EXPIRED = {"exp": "1"}


class Number(Params):
    number: int = 1


@pytest.fixture(autouse=True)
def log_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.runtime.observability._throttle", LogThrottle())


def http_event(key: str = "GET /x", **claims: str) -> dict[str, Any]:
    claims = {"sub": "alice", "scope": "chat:read", "exp": "4102444800", **claims}
    context = {"requestId": "r-7", "authorizer": {"jwt": {"claims": claims}}}
    return {"routeKey": key, "requestContext": context, "body": "{}"}


def frame_event(key: str, **claims: str) -> dict[str, Any]:
    claims = {"sub": "alice", "scope": "chat:read", "exp": "4102444800", **claims}
    context = {"requestId": "r-7", "routeKey": key, "connectionId": "c-1", "authorizer": claims}
    return {"requestContext": context, "body": json.dumps({"action": key, "requestId": "q-1"})}


def answered(route: Route, event: dict[str, Any] | None = None) -> tuple[int, Any]:
    answer = http_handler(Api({"GET /x": route}, lambda: "services", CLOCK))(event or http_event())
    return answer["statusCode"], json.loads(answer["body"])


def failing(error: Exception) -> Callable[..., Any]:
    def function(_services: object, _request: object) -> dict[str, Any]:
        raise error

    return function


def test_a_function_gets_its_services_its_caller_and_its_parameters() -> None:
    def function(services: str, request: Request[None, Number, AnyBody]) -> dict[str, Any]:
        return {"services": services, "caller": request.caller.subject, "number": request.query.number}

    event = http_event() | {"queryStringParameters": {}}

    assert answered(Route(function, query=Number, body=AnyBody), event) == (
        200,
        {"services": "services", "caller": "alice", "number": 1},
    )


def test_a_route_gets_its_own_names_of_parameters_whatever_the_template_calls_them() -> None:
    class SkierPath(Params):
        skier: Literal["7"]

    def function(_services: object, request: Request[SkierPath, None, None]) -> dict[str, Any]:
        return {"skier": request.path.skier, "route": request.event["routeKey"]}

    router = http_handler(Api({"GET /skiers/{skier}/vertical": Route(function, path=SkierPath)}, lambda: None, CLOCK))
    event = http_event("GET /skiers/{resortID}/vertical") | {"rawPath": None}

    answers = [router(event | {"pathParameters": {"resortID": given}}) for given in ("7", "seven")]

    assert json.loads(answers[0]["body"]) == {"skier": "7", "route": "GET /skiers/{skier}/vertical"}
    assert (answers[1]["statusCode"], json.loads(answers[1]["body"])["error"]["details"][0]["field"]) == (400, "skier")


def test_a_path_that_was_decoded_into_another_route_is_a_404() -> None:
    """Its function would act on a room that the client did not name."""
    key = "PUT /rooms/{roomId}/members/{userId}"
    called: list[object] = []
    router = http_handler(Api({key: Route(lambda *each: called.append(each) or {})}, lambda: None, CLOCK))
    parts = {"pathParameters": {"roomId": "r", "userId": "fred"}}

    split, plain = (
        router(http_event(key) | parts | {"rawPath": path})["statusCode"]
        for path in ("/rooms/r%2Fmembers%2Ffred", "/rooms/r/members/fred")
    )

    assert (split, plain, len(called)) == (404, 200, 1)


def test_the_status_is_the_routes_unless_the_function_sets_another() -> None:
    assert answered(Route(lambda *_: {"a": 1}, status=201)) == (201, {"a": 1})
    assert answered(Route(lambda *_: Reply(503, {"a": 1}), status=201)) == (503, {"a": 1})


def test_a_parameter_that_the_model_does_not_have_is_named() -> None:
    event = http_event() | {"queryStringParameters": {"colour": "red"}}

    status, body = answered(Route(lambda *_: {}, query=Number), event)

    detail = {"field": "colour", "message": "is not a parameter of this route", "got": "red", "allowed": "number"}
    assert (status, body["error"]["details"]) == (400, [detail])


def test_an_unknown_route_is_a_404_and_an_unknown_action_names_the_actions() -> None:
    assert answered(Route(lambda *_: {}), http_event("GET /y"))[0] == 404

    answer = frame_handler(Api({}, lambda: None, CLOCK), actions="wave, nod")(frame_event("dance"))

    error = json.loads(answer["body"])["error"]
    assert error["details"][0] == {
        "field": "action",
        "message": "is not an action",
        "got": "dance",
        "allowed": "wave, nod",
    }


def test_fields_in_the_body_of_a_route_without_one_are_refused_by_name() -> None:
    """A client that gave a name to a new direct room believed that it has one."""
    put = http_handler(Api({"PUT /x": Route(lambda *_: {})}, lambda: None, CLOCK))

    answers = [put(http_event("PUT /x") | {"body": body}) for body in ('{"name": "us"}', "{}", "", None)]

    assert [answer["statusCode"] for answer in answers] == [400, 200, 200, 200]
    assert json.loads(answers[0]["body"])["error"]["details"] == [
        {"field": "name", "message": "is not a field of this route", "got": "us", "allowed": "no further field"}
    ]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_route_refuses_missing_or_expired_tokens_and_scopes(function: str) -> None:
    for key, route in getattr(app(function), "ROUTES", {}).items():
        if route.scopes is None:
            continue
        if " " in key:
            answer = http_handler(Api({key: route}, lambda: None, CLOCK))
            anonymous = http_event(key) | {"requestContext": {"requestId": "r"}}
            statuses = [answer(each)["statusCode"] for each in (anonymous, http_event(key, **EXPIRED))]
            refused = json.loads(answer(http_event(key, scope="none:at-all"))["body"])["error"]["code"]
        else:
            router = connection_handler if key.startswith("$") else frame_handler
            answer = router(Api({key: route}, lambda: None, CLOCK))
            expired, other = (answer(frame_event(key, **each)) for each in (EXPIRED, {"scope": "none:at-all"}))
            if key.startswith("$"):
                statuses, refused = [expired["statusCode"]] * 2, {403: "forbidden"}.get(other["statusCode"])
            else:
                statuses = [401] * (json.loads(expired["body"])["error"]["code"] == "token_expired") * 2
                refused = json.loads(other["body"]).get("error", {}).get("code")

        assert statuses == [401, 401], key
        assert not route.scopes or refused == "forbidden", key


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_route_declares_its_scopes_parameters_and_answer(function: str) -> None:
    for key, route in getattr(app(function), "ROUTES", {}).items():
        if " " in key:
            assert TypeAdapter(route.answer).json_schema(), key
            assert ("{" in key) <= (route.path is not None or route.body is AnyBody), key
            assert route.scopes is None or route.scopes, key


def test_a_missing_setting_is_logged_counted_and_not_answered(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """The write paths once answered that it was logged, and did neither."""

    def services() -> Any:
        raise ConfigurationError("the variable RETRY_QUEUE_URL is missing")

    for router, event in ((http_handler, http_event()), (frame_handler, frame_event("GET /x"))):
        answer = router(Api({"GET /x": Route(lambda *_: {})}, services, CLOCK))(event)
        error = json.loads(answer["body"])["error"]
        assert error["code"] == "internal"
        assert "RETRY_QUEUE_URL" not in json.dumps(error)

    assert "RETRY_QUEUE_URL" in caplog.text
    assert capsys.readouterr().out.replace(" ", "").count('"Unexpected":[1.0]') == 2


def test_an_unexpected_error_is_counted_and_its_text_stays_private(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    status, body = answered(Route(failing(KeyError("a private text"))))

    logged = "".join(str(vars(record)) for record in caplog.records)
    assert (status, body["error"]["code"]) == (500, "internal")
    assert "private" not in json.dumps(body) + logged
    assert "test_router.py" in logged
    assert '"Unexpected":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_an_unavailable_table_is_a_503_and_the_log_names_the_route_and_the_code(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A copied wrapper once logged "a page could not be read" for a read mark."""
    error = StoreUnavailable("the table is out of reach")
    error.__cause__ = AwsError("ServiceUnavailable")
    status, body = answered(Route(failing(error)))

    assert (status, body["error"]["code"]) == (503, "unavailable")
    assert body["error"]["retryAfter"] > 0
    assert "GET /x failed: the table is out of reach" in caplog.text
    assert [vars(record)["code"] for record in caplog.records] == ["ServiceUnavailable"]


def test_a_users_own_error_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert answered(Route(failing(NotFound("no such room"))))[0] == 404
    assert caplog.text == ""


@pytest.mark.parametrize(("error", "counted"), [(RateLimited("too many"), True), (StoreUnavailable("away"), False)])
def test_a_connection_that_a_client_may_not_open_is_counted(
    error: Exception, counted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """API Gateway counts every answer but a 200 as an error of the function; an alarm takes these away from it."""
    api = Api({"$connect": Route(failing(error))}, lambda: None, CLOCK)

    assert connection_handler(api)(frame_event("$connect"))["statusCode"] != 200

    assert ("ConnectLimited" in capsys.readouterr().out) == counted


def test_a_refused_connection_opens_with_the_subprotocol_that_says_why_and_no_route_runs() -> None:
    refused = {"refused": "headrace.forbidden"}
    api = Api(dict.fromkeys(("$connect", "$disconnect"), Route(failing(Forbidden("ran")))), lambda: None, CLOCK)

    answers = [connection_handler(api)(frame_event(key, **refused)) for key in api.routes]
    frame = frame_handler(Api({"ping": Route(failing(Forbidden("ran")))}, lambda: None, CLOCK))

    assert answers == 2 * [{"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": "headrace.forbidden"}}]
    assert json.loads(frame(frame_event("ping", **refused))["body"])["error"]["code"] == "unauthorized"


def test_every_request_is_timed_under_its_route_even_if_it_fails() -> None:
    class Times(RequestTimes):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def add(self, route: str, seconds: float) -> None:
            self.seen.append(route)

    times = Times()
    routes = {"GET /x": Route(lambda *_: {}), "GET /y": Route(failing(KeyError()))}
    router = http_handler(Api(routes, lambda: None, CLOCK), lambda: times)

    for key in ("GET /x", "GET /y", "GET /z"):
        router(http_event(key))

    assert times.seen == ["GET /x", "GET /y", "GET /z"]
