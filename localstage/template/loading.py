"""Loads template.yaml and samconfig.toml into the model that a stage runs."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from localstage.core.model import StageModel
from localstage.template import data, functions, http_api, parameters, secrets, triggers, websocket_api
from localstage.template.attributes import Attributes
from localstage.template.intrinsics import Resolver
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
_TYPE = re.compile(r"""\bType["']?:\s*["']?(AWS::\w+::\w+)""")


def load(
    template: Path,
    *,
    config_env: str = "local",
    attributes: Attributes,
    state_dir: Path | None = None,
) -> StageModel:
    """Load ``template`` for a stage with the services in ``attributes``.

    Parameter values come from the template's defaults, then from ``samconfig.toml`` beside the template
    (``[<config_env>.global.parameters]``, ``[<config_env>.deploy.parameters]``).
    ``state_dir`` (``.local`` beside the template) holds the translation and the generated secrets.

    Raises:
        TemplateError: the template cannot be run as written; names the logical id and property, or the line.
    """
    template = template.resolve()
    state_dir = state_dir or template.parent / ".local"
    region = os.environ.get("AWS_REGION") or "us-east-1"
    samconfig = template.parent / "samconfig.toml"
    configured = parameters.from_samconfig(samconfig, config_env)
    translated = translate(template, configured, region, state_dir)
    declared = translated.document.get("Parameters") or {}
    parameters.check_names(declared, configured, f"{samconfig.name} [{config_env}]")
    resolver = Resolver(translated.document, parameters.values(declared, configured), attributes, region)
    stack = Stack(translated.document, resolver)
    model = _read(stack, translated, template.parent, state_dir)
    _log_left_out(stack)
    _warn_of_nested_stacks(stack, template.parent)
    return model


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
        scopes=tuple(
            server.inner("Scopes", scope).text("ScopeName")
            for server in stack.all("AWS::Cognito::UserPoolResourceServer")
            for scope in server.items("Scopes")
        ),
        custom_resources=data.read_custom_resources(stack),
    )


def _log_left_out(stack: Stack) -> None:
    left_out = {type_ for type_ in stack.types.values() if type_ not in _RUN and not type_.startswith("Custom::")}
    log.debug("resource types that the local stage does not run: %s", ", ".join(sorted(left_out)) or "none")


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
