"""The stages of samconfig.toml."""

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.queues.names import live_queues
from localstage.template import parameters
from localstage.template.translate import translate
from ops.preflight import numbers, plan
from tests.unit.template_stack import QUEUE_PARAMETERS, ROOT, TEMPLATE, TemplateStack

# Connections that one node takes at most, as Amazon MQ documents them.
CONNECTIONS = {"mq.m7g.medium": 300, "mq.m7g.large": 5_000, "mq.m7g.xlarge": 10_000, "mq.m7g.2xlarge": 20_000}


def test_without_a_stage_name_sam_does_what_it_does_for_dev() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())

    assert config["default"] == config["dev"]


def persist_queues_of(values: Mapping[str, Any]) -> int:
    """How many persist queues a stage has."""
    return sum(int(values[name]) for name in QUEUE_PARAMETERS.values())


@pytest.mark.parametrize("stage", ["dev", "staging", "prod"])
def test_the_numbers_of_a_stage_fit_together(stage: str) -> None:
    """And each is one that the template allows."""
    assert "the numbers of the parameters fit together" in numbers(plan(stage))
    assert plan(stage).values["StageName"] == stage


@pytest.mark.parametrize("stage", ["dev", "staging", "prod"])
def test_two_generations_of_environments_fit_into_one_broker_node(template_stack: TemplateStack, stage: str) -> None:
    """After a deployment, connections of old environments stay open beside those of the new ones.

    The page on stages has the sum.
    """
    values = parameters.values(template_stack.parameters, parameters.from_samconfig(ROOT / "samconfig.toml", stage))
    publishers = sum(int(values[f"{name}Concurrency"]) for name in ("ReceiveFrame", "ReceiveHttp"))
    own = sum(
        template_stack.reserved(name)
        for name in ("DeclareTopology", "ManageRooms", "SendProbes", "ReadStatus", "ReturnParked")
    )
    queues = persist_queues_of(values)
    mappings = queues + len(live_queues())
    # persist_events publishes live copies: from the mappings' environments, and from those of the retry lane.
    persisting = queues + int(values["RetryMaxConcurrency"])

    opened = 2 * (publishers + persisting + own) + mappings
    _, medium, larger = template_stack.resources["BrokerConfiguration"]["Properties"]["Data"]["Fn::Base64"]["Fn::Join"][
        1
    ][1]["Fn::If"]
    limit = medium if values["BrokerInstanceType"] == "mq.m7g.medium" else larger
    assert opened <= limit <= CONNECTIONS[values["BrokerInstanceType"]]
    assert f"= {opened:,} of {limit:,}" in (ROOT / "docs" / "how-to" / "configure-a-stage.md").read_text()


def test_the_docs_have_what_every_stage_reserves() -> None:
    page = " ".join((ROOT / "docs" / "how-to" / "configure-a-stage.md").read_text().split())
    dev, staging, prod = (plan(stage).reserved for stage in ("dev", "staging", "prod"))

    assert f"`dev` reserves {dev} concurrent executions" in page
    assert f"`staging` and `prod` {staging} each" in page
    assert staging == prod


def test_each_function_that_reserves_environments_can_do_without(template_stack: TemplateStack) -> None:
    """A new account has 10 concurrent executions, of which none can be reserved."""
    functions = template_stack.of_type("AWS::Lambda::Function")
    reserving = [name for name, one in functions.items() if "ReservedConcurrentExecutions" in one]

    assert all(template_stack.reserved(name) for name in reserving)
    assert dataclasses.replace(plan("dev"), values={"ReserveConcurrency": "false"}).reserved == 0


@pytest.mark.parametrize(("tracing", "is_on"), [("Disabled", False), ("Active", True)])
def test_functions_may_send_traces_only_when_tracing_is_on(
    tracing: str, is_on: bool, template_stack: TemplateStack, tmp_path: Path
) -> None:
    """Lambda refuses a function with active tracing whose role may not send segments."""
    resources = template_stack.resources  # Disabled is the default
    if is_on:
        resources = translate(TEMPLATE, {"Tracing": tracing}, "us-east-1", tmp_path).document["Resources"]
    functions = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::Lambda::Function"]

    assert {"TracingConfig" in one for one in functions} == {is_on}
    for one in functions:
        role = resources[one["Role"]["Fn::GetAtt"][0]]["Properties"]
        given = [arn for arn in role["ManagedPolicyArns"] if "xray" in json.dumps(arn).lower()]
        if any("Fn::If" in arn for arn in given):
            assert given[0]["Fn::If"][0] == "SendsTraces"
        else:
            assert len(given) == is_on
