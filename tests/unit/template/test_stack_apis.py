"""Routes, scopes, clients, limits and access logs of both APIs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.unit.template_stack import TemplateStack, as_list


def unprefixed(scope: Any) -> str:
    return str(scope["Fn::Sub"] if isinstance(scope, dict) else scope).removeprefix("${ScopePrefix}")


def guards_of(template_stack: TemplateStack) -> dict[str, tuple[str, set[str]]]:
    """The authorizer and the scopes of each HTTP route."""
    paths = template_stack.resources["HttpApi"]["Properties"]["Body"]["paths"]
    found = {}
    for path, methods in paths.items():
        for method, one in methods.items():
            ((authorizer, scopes),) = (one.get("security") or [{"NONE": []}])[0].items()
            found[f"{method.upper()} {path}"] = (authorizer, {unprefixed(scope) for scope in scopes})
    return found


def test_route_responses_are_made_one_after_the_other(template_stack: TemplateStack) -> None:
    """API Gateway refuses simultaneous changes of one API."""
    answers = list(template_stack.of_type("AWS::ApiGatewayV2::RouteResponse"))

    for before, name in pairwise(answers):
        assert before in as_list(template_stack.resources[name]["DependsOn"])


def test_no_function_behind_an_api_runs_longer_than_the_api_waits(template_stack: TemplateStack) -> None:
    inside = {"PersistEvents", "PushLive", "DeclareTopology", "SendProbes", "SendWebhooks", "TellOthers", "EraseUsers"}
    inside |= {"ArchiveEvents", "TidyAttachments", "WriteExports"}
    behind = set(template_stack.folders) - inside

    assert {name for name in behind if template_stack.resources[name]["Properties"]["Timeout"] > 29} == set()
    for integration in template_stack.of_type("AWS::ApiGatewayV2::Integration").values():
        function = integration["IntegrationUri"]["Fn::Sub"][1]["FunctionArn"]["Fn::GetAtt"][0]
        timeout = template_stack.resources[function]["Properties"]["Timeout"] * 1000
        assert timeout <= integration.get("TimeoutInMillis", 29_000) <= 29_000


def test_a_parameter_has_one_name_at_its_place_in_all_paths(template_stack: TemplateStack) -> None:
    """REST APIs refuse another one ("only one is allowed"), and AWS does not say whether HTTP APIs do."""
    names: dict[tuple[str, ...], set[str]] = {}
    for path in template_stack.resources["HttpApi"]["Properties"]["Body"]["paths"]:
        parts = path.split("/")
        for at, part in enumerate(parts):
            if part.startswith("{"):
                before = tuple("{}" if each.startswith("{") else each for each in parts[:at])
                names.setdefault(before, set()).add(part)

    assert len(names) > 5
    assert [each for each in names.values() if len(each) > 1] == []


def test_only_tokens_of_operators_are_accepted_where_only_ops_is_enough(template_stack: TemplateStack) -> None:
    """Else any user of the pool who got the scope ops would be an operator."""
    guards = guards_of(template_stack)
    operators = {key for key, (_, scopes) in guards.items() if scopes == {"ops"}}

    assert operators == {key for key, (authorizer, _) in guards.items() if authorizer == "Operators"} != set()


def test_operators_have_a_pool_of_users_which_demands_a_second_factor(template_stack: TemplateStack) -> None:
    pool = template_stack.resources["OperatorPool"]["Properties"]
    schemes = template_stack.resources["HttpApi"]["Properties"]["Body"]["components"]["securitySchemes"]
    operators = schemes["Operators"]["x-amazon-apigateway-authorizer"]["jwtConfiguration"]

    assert (pool["MfaConfiguration"], pool["AdminCreateUserConfig"]) == ("ON", {"AllowAdminCreateUserOnly": True})
    assert operators["issuer"]["Fn::If"][:2] == ["MakesUserPool", {"Fn::GetAtt": ["OperatorPool", "ProviderURL"]}]
    assert operators["audience"]["Fn::If"][:2] == ["MakesUserPool", [{"Ref": "OperatorClient"}]]


@pytest.mark.parametrize(
    ("client", "pool", "flow", "scopes"),
    [
        ("UserPoolClient", "UserPool", "code", {"openid", "chat:write", "chat:read"}),
        ("ProducerClient", "UserPool", "client_credentials", {"events:write"}),
        ("AnalystClient", "UserPool", "client_credentials", {"analytics:read"}),
        ("OperatorClient", "OperatorPool", "code", {"openid", "ops"}),
    ],
)
def test_a_client_gives_only_the_scopes_of_its_kind(
    template_stack: TemplateStack, client: str, pool: str, flow: str, scopes: set[str]
) -> None:
    found = template_stack.resources[client]["Properties"]

    assert (found["UserPoolId"], found["AllowedOAuthFlows"]) == ({"Ref": pool}, [flow])
    assert {unprefixed(scope) for scope in found["AllowedOAuthScopes"]} == scopes
    assert found["GenerateSecret"] is (flow == "client_credentials")


def test_access_logs_hold_nothing_private(template_stack: TemplateStack) -> None:
    for api in template_stack.of_type("AWS::ApiGatewayV2::Stage").values():
        for private in ("sourceIp", "claims", "path", "userAgent", "protocol", "authorizer.sub", "principalId"):
            assert private not in api["AccessLogSettings"]["Format"]


def test_every_route_that_takes_batches_has_the_limits_of_batches(template_stack: TemplateStack) -> None:
    paths = template_stack.resources["HttpApi"]["Properties"]["Body"]["paths"]
    settings = template_stack.resources["HttpApiApiGatewayDefaultStage"]["Properties"]["RouteSettings"]

    limits = {"ThrottlingRateLimit": {"Ref": "BatchRate"}, "ThrottlingBurstLimit": {"Ref": "BatchRate"}}
    batches = {key: limit for key, limit in settings.items() if key != "GET /health"}
    assert batches == {
        f"POST {path}": limits for path in paths if path.endswith(("/batch", "/take-back", "{stream}/events"))
    }


def test_a_flood_of_health_without_a_token_is_no_smaller_than_one_of_any_route_and_uses_up_no_other(
    template_stack: TemplateStack,
) -> None:
    """Its answer is kept for seconds, so a request costs less than any other one."""
    stage = template_stack.resources["HttpApiApiGatewayDefaultStage"]["Properties"]

    assert stage["RouteSettings"]["GET /health"] == stage["DefaultRouteSettings"]
    assert template_stack.reserved("CheckHealth") == 5
