"""MiniStack with what it lacks for this template; runs in MiniStack's environment, as the application of its server.

Variables: ``REHEARSAL_MACHINES`` is the URL of :mod:`rehearsal.machines`, ``REHEARSAL_DECISIONS`` the file of
decisions about rights, ``REHEARSAL_RUNTIME`` the folder of boto3, which functions import as in Lambda's runtime, and
those of :mod:`rehearsal.apis`.
"""

from __future__ import annotations

import json
import os
import secrets
import string
import sys
from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rehearsal import apis, rights
from rehearsal.apis import app
from rehearsal.gaps import ALARM, BROKER, CACHE, COMPOSITE_ALARM, GAPS, ROUTE_RESPONSE

__all__ = ["app"]

Made = tuple[str, dict[str, Any]]  # the physical id and the attributes of a resource
Properties = dict[str, Any]

_provisioners: Any = import_module("ministack.services.cloudformation.provisioners")
_handlers: dict[str, dict[str, Any]] = _provisioners._RESOURCE_HANDLERS
_MAX_METRICS = 10
_VARIABLES_ARE_SET = "    os.environ.update(env)\n"
_NAME_STREAMS = 'os.environ["STREAMS_FOLDER"] = os.environ["_LAMBDA_LAYERS_DIRS"].rpartition(os.pathsep)[2]'
"""Lines of the emulator's program that runs a function: one that it has, and one that follows it."""


def _ask_machines(question: str, **body: Any) -> Any:
    """Ask the rehearsal to start or stop a machine.

    Raises:
        ValueError: it could not; CloudFormation shows the message.
    """
    url = f"{os.environ['REHEARSAL_MACHINES']}/{question}"
    request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})  # noqa: S310
    try:
        with urlopen(request, timeout=120) as answer:  # noqa: S310
            return json.load(answer)
    except HTTPError as error:
        raise ValueError(error.read().decode(errors="replace")) from None


def _checked(type_: str, properties: Properties) -> None:
    if type_ == ROUTE_RESPONSE:
        routes = import_module("ministack.services.apigateway")._routes.get(properties["ApiId"], {})
        if str(properties["RouteId"]).rpartition("/")[2] not in routes:
            raise ValueError(f"{type_}: RouteId: the API has no route {properties['RouteId']!r}")


def _make(type_: str) -> Callable[[str, Properties, str], Made]:
    def create(logical_id: str, properties: Properties, stack_name: str) -> Made:
        _checked(type_, properties)
        if type_ not in (BROKER, CACHE):
            return f"{stack_name}-{logical_id}-{secrets.token_hex(4)}", dict(GAPS[type_].attributes)
        made = _ask_machines("start", type=type_, stack=stack_name, id=logical_id, properties=properties)
        return made["id"], made["attributes"]

    return create


def _change(type_: str) -> Callable[[str, Properties, Properties, str], Made]:
    def update(physical_id: str, _old: Properties, new: Properties, _stack_name: str) -> Made:
        _checked(type_, new)
        if type_ not in (BROKER, CACHE):
            return physical_id, dict(GAPS[type_].attributes)
        return physical_id, _ask_machines("attributes", id=physical_id)

    return update


def _remove(type_: str) -> Callable[[str, Properties], None]:
    def delete(physical_id: str, _properties: Properties) -> None:
        if type_ in (BROKER, CACHE):
            _ask_machines("stop", id=physical_id)

    return delete


def _fill_gaps() -> None:
    for type_ in GAPS:
        if type_ in _handlers:
            raise ValueError(f"MiniStack has {type_} now: remove it from rehearsal/gaps.toml")
        _handlers[type_] = {"create": _make(type_), "update": _change(type_), "delete": _remove(type_)}
    stacks: Any = import_module("ministack.services.cloudformation.stacks")
    blocks = stacks._runs_on_worker_thread
    stacks._runs_on_worker_thread = lambda type_: type_ in (BROKER, CACHE) or blocks(type_)


def _told(mapping: Properties) -> Properties:
    """MiniStack makes no use of mappings of RabbitMQ queues; the rehearsal reads the queues."""
    if "Queues" in mapping:
        _ask_machines("map", broker=mapping["EventSourceArn"].split(":")[6], properties=mapping)
    return mapping


def _check_metrics(metrics: list[dict[str, Any]]) -> None:
    ids = [one.get("Id") for one in metrics]
    if len(set(ids)) != len(ids) or None in ids:
        raise ValueError(f"{ALARM}: Metrics: each needs a different Id, got {ids}")
    if sum("MetricStat" in one for one in metrics) > _MAX_METRICS:
        raise ValueError(f"{ALARM}: Metrics: at most {_MAX_METRICS} with MetricStat")
    if sum(str(one.get("ReturnData", True)).lower() == "true" for one in metrics) != 1:
        raise ValueError(f"{ALARM}: Metrics: exactly one must have ReturnData")
    if not any("MetricStat" in one or "Period" in one for one in metrics if "SELECT" not in str(one)):
        raise ValueError(f"{ALARM}: Period must not be null")


def _without_math(alarm: Properties) -> Properties:
    """MiniStack refuses alarms on expressions. If its parts fit, such an alarm has a metric without values instead."""
    if not alarm.get("Metrics"):
        return alarm
    _check_metrics(alarm["Metrics"])
    return {**alarm, "Metrics": [], "Namespace": "expression", "MetricName": "none", "Period": 60, "Statistic": "Sum"}


def _compose_alarms() -> None:
    """MiniStack's CloudWatch has composite alarms, its CloudFormation has none."""
    cloudwatch: Any = import_module("ministack.services.cloudwatch")
    create = _handlers[COMPOSITE_ALARM]["create"]

    def make(logical_id: str, properties: Properties, stack_name: str) -> Any:
        name, _ = create(logical_id, properties, stack_name)
        status, _, body = cloudwatch._put_composite_alarm({}, {**properties, "AlarmName": name}, True)
        if status != 200:
            raise ValueError(f"{COMPOSITE_ALARM}: {body!r}")
        return name, {}

    def remove(physical_id: str, _properties: Properties) -> None:
        cloudwatch._delete_alarms({}, {"AlarmNames": [physical_id]}, True)

    _handlers[COMPOSITE_ALARM].update(create=make, delete=remove)


def _return_what_aws_returns() -> None:
    """``Ref`` of a secret is its ARN, and generated passwords have no punctuation."""
    secret = _handlers["AWS::SecretsManager::Secret"]
    create, update, delete = secret["create"], secret["update"], secret["delete"]

    def name_of(arn: str) -> str:
        return arn.rpartition(":secret:")[2][:-7] if arn.startswith("arn:") else arn

    def make(logical_id: str, properties: Properties, stack_name: str) -> Any:
        generated = properties.get("GenerateSecretString", {})
        if str(generated.get("ExcludePunctuation", "")).lower() == "true":
            generated = {**generated, "ExcludeCharacters": string.punctuation}
            properties = {**properties, "GenerateSecretString": generated}
        _, attributes = create(logical_id, properties, stack_name)
        return attributes["Id"], attributes

    def change(physical_id: str, old: Properties, new: Properties, *rest: Any) -> Any:
        _, attributes = update(name_of(physical_id), old, new, *rest)
        return physical_id, attributes

    def remove(physical_id: str, properties: Properties) -> None:
        delete(name_of(physical_id), properties)

    secret.update(create=make, update=change, delete=remove)


def _convert(type_: str, converted: Callable[[Properties], Properties]) -> None:
    """Create and update resources of a type with converted properties."""
    handler = _handlers[type_]
    create, update = handler["create"], handler["update"]

    def make(logical_id: str, properties: Properties, stack_name: str) -> Any:
        return create(logical_id, converted(properties), stack_name)

    def change(physical_id: str, old: Properties, new: Properties, *rest: Any) -> Any:
        return update(physical_id, converted(old), converted(new), *rest)

    handler.update(create=make, update=change)


def _transform_with_parameters() -> None:
    """AWS's transform gets the values of parameters, such as the release; MiniStack's gets none."""
    engine: Any = import_module("ministack.services.cloudformation.engine")
    translator: Any = import_module("samtranslator.translator.transform")
    apply, transform = engine._apply_transforms, translator.transform
    values: ContextVar[dict[str, Any]] = ContextVar("values")

    def apply_with_values(template: Any, provided: Any = None, previous: Any = None) -> Any:
        token = values.set(engine._transform_parameters(template, provided, previous))
        try:
            return apply(template, provided, previous)
        finally:
            values.reset(token)

    translator.transform = lambda template, _, loader: transform(template, values.get(), loader)
    for name in ("changesets", "handlers"):
        module: Any = import_module(f"ministack.services.cloudformation.{name}")
        module._apply_transforms = apply_with_values


def _expand_nested_loops() -> None:
    """MiniStack transforms no nested template. AWS expands its loops, with the parameters that the parent gives."""
    engine: Any = import_module("ministack.services.cloudformation.engine")
    loops: Any = import_module("ministack.services.cloudformation.language_extensions")
    resolve = engine._resolve_parameters

    def resolved(template: dict[str, Any], *given: Any) -> Any:
        values = resolve(template, *given)
        if loops.TRANSFORM in engine.declared_transforms(template):
            found = loops.apply(template, {name: one["Value"] for name, one in values.items()})
            template.clear()
            template.update(engine._without_transform(found, loops.TRANSFORM))
        return values

    engine._resolve_parameters = resolved


def _numbers(properties: Properties) -> Properties:
    """CloudFormation reads parameters, which are texts, as numbers where SQS and Lambda need numbers."""
    found = dict(properties)
    for name, value in properties.items():
        if isinstance(value, str) and value.isdecimal():
            found[name] = int(value)
        elif name == "ScalingConfig":
            found[name] = _numbers(value)
    return found


def _keep_old_files() -> None:
    """A file is as old as its metadata says: none expires within a rehearsal."""
    s3: Any = import_module("ministack.services.s3")
    build = s3._build_object_record

    def record(body: bytes, headers: dict[str, str], *rest: Any, **named: Any) -> dict[str, Any]:
        made: dict[str, Any] = build(body, headers, *rest, **named)
        return {**made, "last_modified": headers.get("x-amz-meta-uploaded-at", made["last_modified"])}

    s3._build_object_record = record


def _run_functions_alone() -> None:
    """Functions get a Python without the emulator's packages, boto3 as in Lambda's runtime, and the declared streams.

    The emulator has no ``/opt``: it unpacks each layer apart. StreamsLayer is the last.
    """
    runtime: Any = import_module("ministack.core.lambda_runtime")
    detect = runtime._detect_runtime_binary
    base = getattr(sys, "_base_executable", sys.executable)

    def binary(name: str) -> tuple[str, str]:
        found, script = detect(name)
        script = script.replace(_VARIABLES_ARE_SET, f"{_VARIABLES_ARE_SET}    {_NAME_STREAMS}\n")
        return (base, script) if found == sys.executable else (found, script)

    runtime._detect_runtime_binary = binary
    os.environ["PYTHONPATH"] = os.environ["REHEARSAL_RUNTIME"]  # for the functions: this process has started


_fill_gaps()
_compose_alarms()
_return_what_aws_returns()
_convert(ALARM, _without_math)
_convert("AWS::Lambda::Function", apis.variables)
_convert("AWS::Lambda::Function", rights.remember_network)
_convert("AWS::Lambda::EventSourceMapping", _numbers)
_convert("AWS::Lambda::EventSourceMapping", _told)
_convert("AWS::SQS::Queue", _numbers)
_transform_with_parameters()
_expand_nested_loops()
_keep_old_files()
rights.check_as_aws_does()
apis.serve_as_aws_does()
_run_functions_alone()
