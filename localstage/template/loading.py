"""Loads template.yaml and samconfig.toml into the model that a stage runs."""

from __future__ import annotations

import os
from pathlib import Path

from localstage.core.errors import TemplateError
from localstage.core.model import StageModel
from localstage.template import data, functions, http_api, parameters, triggers, websocket_api
from localstage.template.attributes import Attributes
from localstage.template.intrinsics import Resolver
from localstage.template.resources import Stack
from localstage.template.translate import Translated, translate

PARAMETERS = {"LOCALSTAGE_BROKERS": "BrokerCount", "LOCALSTAGE_FEATURES": "Features"}
"""The parameter that each of these environment variables sets."""


def load(template: Path, *, attributes: Attributes, state_dir: Path | None = None) -> StageModel:
    """Load ``template`` for a stage with the services in ``attributes``.

    Parameter values come from the template's defaults, then from ``samconfig.toml`` beside the template
    (``[local.global.parameters]``, ``[local.deploy.parameters]``), then from the environment.
    ``state_dir`` (``.local`` beside the template) holds the translation and the generated secrets.

    Raises:
        TemplateError: the template cannot be run as written; names the logical id and property, or the line.
    """
    template = template.resolve()
    state_dir = state_dir or template.parent / ".local"
    region = os.environ.get("AWS_REGION") or "us-east-1"
    samconfig = template.parent / "samconfig.toml"
    configured = parameters.from_samconfig(samconfig, "local")
    configured |= {name: value for variable, name in PARAMETERS.items() if (value := os.environ.get(variable))}
    translated = translate(template, configured, region, state_dir)
    declared = translated.document.get("Parameters") or {}
    parameters.check_names(declared, configured, f"{samconfig.name} [local]")
    resolver = Resolver(translated.document, parameters.values(declared, configured), attributes, region)
    try:
        return _read(Stack(translated.document, resolver), translated, template.parent, state_dir)
    except RecursionError:
        raise TemplateError(f"{template}: something refers to itself; see what with: make validate") from None


def _read(stack: Stack, translated: Translated, root: Path, state_dir: Path) -> StageModel:
    secrets = data.read_secrets(stack, state_dir)  # first: other resources resolve them
    rabbitmq, sqs, streams = triggers.read_mappings(stack, root)
    return StageModel(
        functions=functions.read_functions(stack, root, translated.sources),
        http_apis=http_api.read_http_apis(stack),
        websocket_apis=websocket_api.read_websocket_apis(stack),
        rabbitmq_mappings=rabbitmq,
        sqs_mappings=sqs,
        stream_mappings=streams,
        schedules=triggers.read_schedules(stack),
        tables=data.read_tables(stack),
        queues=data.read_queues(stack),
        buckets=data.read_buckets(stack),
        secrets=secrets,
        brokers=data.read_brokers(stack),
        scopes=tuple(
            scope["ScopeName"]
            for _, server in stack.all("AWS::Cognito::UserPoolResourceServer")
            for scope in server["Scopes"]
        ),
        custom_resources=data.read_custom_resources(stack),
    )
