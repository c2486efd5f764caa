"""Small parts of the gateway: routes, throttles, ids, policies."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localstage.core.errors import TemplateError
from localstage.core.model import Throttle, WebSocketApi, WebSocketRoute
from localstage.gateway.aws_ids import Clock, api_id, iso_time, new_id
from localstage.gateway.routes import RouteTable
from localstage.gateway.throttle import TokenBucket
from localstage.gateway.websocket_authorizer import HandshakeRefused, _check_policy
from localstage.gateway.websocket_routing import MessageRoutes

ARN = "arn:aws:execute-api:us-east-1:123456789012:abc/dev/$connect"


def table(*keys: str) -> RouteTable[str]:
    return RouteTable((key, key) for key in keys)


@pytest.mark.parametrize("order", [1, -1])
def test_a_full_match_with_parameters_precedes_a_greedy_one_in_any_order(order: int) -> None:
    routes = table(*["GET /a/{proxy+}", "GET /{x}/{y}"][::order])

    assert routes.match("GET", "/a/b") == ("GET /{x}/{y}", {"x": "a", "y": "b"})
    assert routes.match("GET", "/a/b/c") == ("GET /a/{proxy+}", {"proxy": "b/c"})


def test_a_method_that_a_fixed_path_lacks_is_looked_for_under_parameters() -> None:
    routes = table("GET /users/me", "PUT /users/{id}")

    assert routes.match("PUT", "/users/me") == ("PUT /users/{id}", {"id": "me"})
    assert routes.match("DELETE", "/users/me") is None


def test_a_greedy_parameter_needs_at_least_one_segment() -> None:
    assert table("ANY /files/{path+}").match("GET", "/files/") is None
    assert table("ANY /files/{path+}").match("GET", "/files") is None


@pytest.mark.parametrize("key", ["", "/rooms", "GET rooms", "GET /{proxy+}/more"])
def test_a_route_key_of_another_form_is_named(key: str) -> None:
    with pytest.raises(TemplateError, match=re.escape(repr(key))):
        table(key)


@given(st.lists(st.text(st.characters(exclude_characters="/{}", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_parameters_are_the_segments_of_the_path(segments: list[str]) -> None:
    key = "GET " + "".join(f"/{{p{index}}}" for index in range(len(segments)))

    found = table(key).match("GET", "/" + "/".join(segments))

    assert found is not None
    assert list(found[1].values()) == segments


def test_a_bucket_gives_its_burst_at_once_and_its_rate_after_that() -> None:
    now = [0.0]
    bucket = TokenBucket(Throttle(rate=2, burst=3), clock=lambda: now[0])

    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 1.0
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    now[0] = 100.0
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


def test_ids_look_like_aws_own() -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{15}=", new_id())
    assert new_id() != new_id()
    assert re.fullmatch(r"[a-z0-9]{10}", api_id("HttpApi"))
    assert api_id("HttpApi") == api_id("HttpApi") != api_id("OtherApi")


def test_times_are_in_the_access_logs_form() -> None:
    millis, text = Clock().now()

    assert datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z") == datetime.fromtimestamp(millis // 1000, UTC)
    assert iso_time(1707503007396) == "2024-02-09T18:23:27.396Z"


def statement(effect: str, resource: object = ARN, action: object = "execute-api:Invoke") -> dict[str, object]:
    return {"Effect": effect, "Action": action, "Resource": resource}


@pytest.mark.parametrize(
    "statements",
    [
        [statement("Allow")],
        [statement("Allow", "*")],
        [statement("Allow", "arn:aws:execute-api:*:*:abc/*")],
        [statement("Allow", ["arn:other", ARN])],
        [statement("Allow", action="*")],
        [statement("Allow", action=["execute-api:*"])],
        [statement("Deny", "arn:aws:execute-api:*:*:other/*"), statement("Allow")],
        [statement("Allow", ARN.replace("dev", "d?v"))],
    ],
)
def test_a_policy_that_allows_the_connection_lets_it_through(statements: list[dict[str, object]]) -> None:
    _check_policy(statements, ARN)


@pytest.mark.parametrize(
    "statements",
    [
        [],
        [statement("Deny")],
        [statement("Allow"), statement("Deny", "*")],
        [statement("Allow", "arn:aws:execute-api:*:*:other/*")],
        [statement("Allow", action="lambda:InvokeFunction")],
        [statement("Allow", ARN.replace("dev", "[d]ev"))],
        [statement("Allow", None)],
        [statement("allow")],
    ],
)
def test_any_other_policy_is_a_403(statements: list[dict[str, object]]) -> None:
    with pytest.raises(HandshakeRefused) as refused:
        _check_policy(statements, ARN)

    assert refused.value.status == 403


def message_routes(*keys: str, selection: str = "$request.body.action") -> MessageRoutes:
    return MessageRoutes(
        WebSocketApi("Api", "dev", selection, {key: WebSocketRoute(key, "Function", True) for key in keys}, None)
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"action": "ping"}', "ping"),
        ('{"action": "other"}', "$default"),
        ('{"action": "$connect"}', "$default"),
        ('{"action": "$disconnect"}', "$default"),
        ('{"action": 7}', "$default"),
        ('{"action": ["ping"]}', "$default"),
        ("{}", "$default"),
        ("[]", "$default"),
        ("7", "$default"),
        ("ping", "$default"),
        ("", "$default"),
        ("[" * 100_000, "$default"),
    ],
)
def test_messages_find_their_route(text: str, key: str) -> None:
    found = message_routes("$connect", "$disconnect", "$default", "ping").select(text)

    assert found is not None
    assert found.route.key == key


def test_without_a_default_route_other_messages_have_none() -> None:
    assert message_routes("ping").select('{"action": "other"}') is None


def test_a_selection_expression_may_go_deeper() -> None:
    found = message_routes("ping", selection="${request.body.meta.kind}").select('{"meta": {"kind": "ping"}}')

    assert found is not None


def test_a_selection_expression_of_another_kind_is_a_template_error() -> None:
    with pytest.raises(TemplateError, match="RouteSelectionExpression"):
        message_routes("ping", selection="$request.header.action")
