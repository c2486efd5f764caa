"""The HTTP API calls an alias, which moves to a new version with each deployment."""

from pathlib import Path
from typing import Any

import pytest

from localstage.template.translate import translate
from tests.unit.template_stack import TEMPLATE, TemplateStack

RELEASE = "2611222357-677f840"


def integrations(stack: TemplateStack) -> set[str]:
    """What the routes of the HTTP API call: the names between ``functions/`` and ``/invocations``."""
    paths = stack.resources["HttpApi"]["Properties"]["Body"]["paths"]
    routes = [one for methods in paths.values() for one in methods.values()]
    uris = [one["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"] for one in routes]
    return {uri.partition("/functions/${")[2].removesuffix("}/invocations") for uri in uris}


def functions_of_the_http_api(stack: TemplateStack) -> set[str]:
    return {name.removesuffix("Aliaslive") for name in integrations(stack)}


def resources_of(release: str, folder: Path, **more: str) -> dict[str, Any]:
    found: dict[str, Any] = translate(TEMPLATE, {"Release": release, **more}, "us-east-1", folder).document["Resources"]
    return found


def versions(resources: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in resources.items() if one["Type"] == "AWS::Lambda::Version"}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The resources of the stack with a release."""
    return resources_of(RELEASE, tmp_path_factory.mktemp("released"))


def test_every_route_calls_an_alias_and_may_do_so(template_stack: TemplateStack) -> None:
    aliases = set(template_stack.of_type("AWS::Lambda::Alias"))
    permissions = [one["FunctionName"] for one in template_stack.of_type("AWS::Lambda::Permission").values()]

    assert integrations(template_stack) == aliases
    assert all({"Ref": alias} in permissions for alias in aliases)
    assert [name for name in functions_of_the_http_api(template_stack) if {"Ref": name} in permissions] == []


def test_mappings_schedules_and_websockets_call_no_alias(template_stack: TemplateStack) -> None:
    callers = ("AWS::Lambda::EventSourceMapping", "AWS::Events::Rule", "AWS::ApiGatewayV2::Integration")
    found = [one for type_ in callers for one in template_stack.of_type(type_).values()]

    assert found
    assert "Aliaslive" not in str(found)


def test_a_release_publishes_a_version_of_each_function(
    template_stack: TemplateStack, released: dict[str, Any], tmp_path: Path
) -> None:
    """SAM alone sees no other parameter: a new rate would not reach the HTTP API. So a release is demanded."""
    first = versions(released)
    second = versions(resources_of("2611222358-677f840", tmp_path, EventRate="7"))

    assert {one["Properties"]["FunctionName"]["Ref"] for one in second.values()} == functions_of_the_http_api(
        template_stack
    )
    assert first.keys().isdisjoint(second)
    assert template_stack.rules["ReleaseIsNamed"]["Assertions"][0]["Assert"] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "Release"}, ""]}]
    }


def test_a_release_changes_the_functions_of_the_http_api_alone(
    template_stack: TemplateStack, released: dict[str, Any]
) -> None:
    """Lambda publishes no version of a function that did not change. SAM writes the release into the description."""
    described = {
        name: one["Properties"]["Description"]
        for name, one in released.items()
        if one["Type"] == "AWS::Lambda::Function" and "Description" in one["Properties"]
    }

    assert described == dict.fromkeys(functions_of_the_http_api(template_stack), RELEASE)


def test_an_alarm_stops_a_canary_and_does_not_stop_a_mend(template_stack: TemplateStack) -> None:
    """CodeDeploy refuses a deployment while one of its alarms is on, so AllAtOnce has none."""
    groups = template_stack.of_type("AWS::CodeDeploy::DeploymentGroup").values()

    assert len(groups) == len(functions_of_the_http_api(template_stack))
    for group in groups:
        condition, canary, at_once = group["AlarmConfiguration"]["Fn::If"]
        assert (condition, canary["Enabled"], at_once) == ("ShiftsTraffic", True, {})
        assert canary["Alarms"] == [{"Name": {"Ref": "ApiErrorsAlarm"}}]
        assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    assert template_stack.conditions["ShiftsTraffic"] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "TrafficShift"}, "AllAtOnce"]}]
    }


def test_the_alarm_of_a_deployment_watches_each_function_that_clients_call(template_stack: TemplateStack) -> None:
    """Operators see the errors of theirs, and an alarm has at most ten metrics."""
    watching = str(template_stack.alarms["ApiErrorsAlarm"])
    unwatched = {name for name in functions_of_the_http_api(template_stack) if str({"Ref": name}) not in watching}

    erasing = {"ManageErasures", "ManageExports"}
    assert unwatched == {"ManageConnections", "ManageDeadLetters", "ReadStatus", "ReturnParked"} | erasing
