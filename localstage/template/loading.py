"""Loads template.yaml and samconfig.toml into the model that a stage runs."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localstage.core.errors import TemplateError
from localstage.core.model import StageModel
from localstage.template import data, functions, http_api, names, parameters, secrets, triggers, websocket_api
from localstage.template.attributes import Attributes
from localstage.template.intrinsics import NO_VALUE, Resolver, as_text
from localstage.template.resources import Stack
from localstage.template.translate import Translated, translate

log = logging.getLogger("localstage.template")

_RUN = {
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Alias",
    "AWS::Lambda::Version",
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::Stage",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::RouteResponse",
    "AWS::Events::Rule",
    "AWS::Scheduler::Schedule",
    "AWS::DynamoDB::Table",
    "AWS::SQS::Queue",
    "AWS::SecretsManager::Secret",
    "AWS::AmazonMQ::Broker",
    "AWS::ElastiCache::ServerlessCache",
    "AWS::Cognito::UserPool",
    "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolResourceServer",
    "AWS::CloudFormation::CustomResource",
}
# A template with one of these types behaves differently from AWS, so each start warns of them.
_MISSED = {
    "AWS::ApiGateway::RestApi",
    "AWS::DynamoDB::GlobalTable",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::Kinesis::Stream",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Url",
    "AWS::Pipes::Pipe",
    "AWS::SNS::Subscription",
    "AWS::SNS::Topic",
    "AWS::StepFunctions::StateMachine",
}
_TYPE = re.compile(r"""\bType["']?:\s*["']?(AWS::\w+::\w+)""")


def load(
    template: Path,
    *,
    config_env: str = "local",
    attributes: Attributes,
    overrides: Mapping[str, str] | None = None,
    state_dir: Path | None = None,
) -> StageModel:
    """Load ``template`` for a stage with the services in ``attributes``.

    Parameter values come from the template's defaults, then from ``samconfig.toml`` beside the template
    (``[<config_env>.global.parameters]``, ``[<config_env>.deploy.parameters]``), then from ``overrides``.
    ``state_dir`` (``.local`` beside the template) holds the translation and the generated secrets.

    Raises:
        TemplateError: the template cannot be run as written; names the logical id and property, or the line.
    """
    template = template.resolve()
    state_dir = state_dir or template.parent / ".local"
    region = os.environ.get("AWS_REGION") or "us-east-1"
    samconfig = template.parent / "samconfig.toml"
    configured = parameters.from_samconfig(samconfig, config_env)
    chosen = {**configured, **(overrides or {})}
    translated = translate(template, chosen, region, state_dir)
    declared = translated.document.get("Parameters") or {}
    parameters.check_names(declared, configured, f"{samconfig.name} [{config_env}]")
    parameters.check_names(declared, overrides or {}, "overrides")
    resolver = Resolver(translated.document, parameters.values(declared, chosen), attributes, region)
    stack = Stack(translated.document, resolver)
    _check_names(translated.document, resolver, stack)
    model = _read(stack, translated, template.parent, state_dir)
    _log_left_out(stack)
    _warn_of_nested_stacks(stack, template.parent)
    return model


def _check_names(document: dict[str, Any], resolver: Resolver, stack: Stack) -> None:
    def known(name: str) -> bool:
        return name in resolver.pseudo or name in resolver.parameters or name in document["Resources"]

    for logical_id in stack.types:
        names.check(document["Resources"][logical_id].get("Properties"), known, logical_id)


def _read(stack: Stack, translated: Translated, root: Path, state_dir: Path) -> StageModel:
    found_secrets = secrets.read_secrets(stack, state_dir)  # first: other resources resolve them
    mappings = triggers.read_mappings(stack)
    return StageModel(
        functions=functions.read_functions(stack, root, translated.sources),
        http_apis=http_api.read_http_apis(stack),
        websocket_apis=websocket_api.read_websocket_apis(stack),
        rabbitmq_mappings=mappings.rabbitmq,
        sqs_mappings=mappings.sqs,
        schedules=triggers.read_schedules(stack),
        tables=data.read_tables(stack),
        queues=data.read_queues(stack),
        secrets=found_secrets,
        brokers=data.read_brokers(stack),
        caches=data.read_caches(stack),
        user_pools=tuple(one.id for one in stack.all("AWS::Cognito::UserPool")),
        scopes=tuple(
            server.inner("Scopes", scope).text("ScopeName")
            for server in stack.all("AWS::Cognito::UserPoolResourceServer")
            for scope in server.items("Scopes")
        ),
        custom_resources=data.read_custom_resources(stack),
        outputs=_outputs(translated.document, stack.resolver),
    )


def _outputs(document: dict[str, Any], resolver: Resolver) -> dict[str, str]:
    found = {}
    for name, output in (document.get("Outputs") or {}).items():
        where = f"Outputs.{name}"
        if not isinstance(output, dict) or "Value" not in output:
            raise TemplateError(f"{where} has no Value")
        condition = output.get("Condition")
        if condition is None or resolver.condition(condition, where):
            value = resolver.value(output["Value"], where)
            found[name] = "" if value is NO_VALUE else as_text(value)
    return found


def _log_left_out(stack: Stack) -> None:
    left_out: dict[str, list[str]] = {}
    for logical_id, type_ in stack.types.items():
        if type_ not in _RUN and not type_.startswith("Custom::"):
            left_out.setdefault(type_, []).append(logical_id)
    for type_ in sorted(left_out):
        if type_ in _MISSED:
            log.warning("%s is not run: the local stage has no %s", ", ".join(left_out[type_]), type_)
    plain = sorted(type_ for type_ in left_out if type_ not in _MISSED)
    log.debug("resource types that the local stage does not run: %s", ", ".join(plain) or "none")


def _warn_of_nested_stacks(stack: Stack, root: Path) -> None:
    """Warn of each nested stack with resources that this template would run; alarms and dashboards need no warning."""
    for nested in stack.all("AWS::CloudFormation::Stack"):
        path = root / nested.text("TemplateURL", "")
        if not path.is_file():
            log.warning("%s is not run: it is a nested stack whose template is not a local file", nested.id)
            continue
        types = set(_TYPE.findall(path.read_text(encoding="utf-8")))
        lost = sorted(one for one in types if one in _RUN or one.startswith("AWS::Serverless::"))
        if lost:
            log.warning("%s is not run: it is a nested stack, with %s", nested.id, ", ".join(lost))
