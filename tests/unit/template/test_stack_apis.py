"""Routes, scopes, limits and access logs of both APIs."""

from tests.unit.template_stack import TemplateStack


def test_every_frame_route_answers_on_the_same_connection(template_stack: TemplateStack) -> None:
    routes = {
        name: one
        for name, one in template_stack.of_type("AWS::ApiGatewayV2::Route").items()
        if one["RouteKey"][1:] != "connect"
    }
    two_way = {name for name, one in routes.items() if one.get("RouteResponseSelectionExpression") == "$default"}
    answered = [one["RouteId"]["Ref"] for one in template_stack.of_type("AWS::ApiGatewayV2::RouteResponse").values()]

    assert two_way == {name for name, one in routes.items() if one["RouteKey"] != "$disconnect"}
    assert sorted(answered) == sorted(two_way)


def test_no_function_behind_an_api_runs_longer_than_the_api_waits(template_stack: TemplateStack) -> None:
    behind = set(template_stack.folders) - {"PersistEvents", "PushLive", "DeclareTopology", "SendProbes"}

    assert {name for name in behind if template_stack.resources[name]["Properties"]["Timeout"] > 29} == set()
    for integration in template_stack.of_type("AWS::ApiGatewayV2::Integration").values():
        function = integration["IntegrationUri"]["Fn::Sub"][1]["FunctionArn"]["Fn::GetAtt"][0]
        timeout = template_stack.resources[function]["Properties"]["Timeout"] * 1000
        assert timeout <= integration["TimeoutInMillis"] <= 29_000


def test_every_http_route_except_health_needs_a_token_with_a_scope(template_stack: TemplateStack) -> None:
    paths = template_stack.resources["HttpApi"]["Properties"]["Body"]["paths"]

    bare = {
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method, one in methods.items()
        if not [scope for guard in one.get("security", []) for scope in guard.get("Jwt", [])]
    }
    assert bare == {"GET /health"}


def test_access_logs_hold_nothing_private(template_stack: TemplateStack) -> None:
    for api in template_stack.of_type("AWS::ApiGatewayV2::Stage").values():
        for private in ("sourceIp", "claims", "path", "userAgent", "protocol", "authorizer.sub", "principalId"):
            assert private not in api["AccessLogSettings"]["Format"]


def test_every_route_that_takes_batches_has_the_limits_of_batches(template_stack: TemplateStack) -> None:
    paths = template_stack.resources["HttpApi"]["Properties"]["Body"]["paths"]
    settings = template_stack.resources["HttpApiApiGatewayDefaultStage"]["Properties"]["RouteSettings"]

    limits = {"ThrottlingRateLimit": {"Ref": "HttpBatchRate"}, "ThrottlingBurstLimit": {"Ref": "HttpBatchBurst"}}
    batches = {key: limit for key, limit in settings.items() if key != "GET /health"}
    assert batches == {f"POST {path}": limits for path in paths if path.endswith("/batch")}


def test_callers_without_a_token_cannot_use_up_the_health_route(template_stack: TemplateStack) -> None:
    settings = template_stack.resources["HttpApiApiGatewayDefaultStage"]["Properties"]["RouteSettings"]
    health = template_stack.resources["CheckHealth"]["Properties"]

    assert settings["GET /health"] == {"ThrottlingRateLimit": 100, "ThrottlingBurstLimit": 50}
    assert health["ReservedConcurrentExecutions"] == 5


def test_six_slow_requests_of_one_user_do_not_use_up_room_management(template_stack: TemplateStack) -> None:
    assert template_stack.parameters["ManageRoomsConcurrency"]["Default"] == 20
