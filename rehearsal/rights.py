"""Rights as AWS checks them, in the emulator's process: with the policies of VPC endpoints, each decision in a file."""

from __future__ import annotations

import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

_OF_A_FILE = ("s3:GetObject", "s3:GetObjectTagging", "s3:PutObjectTagging", "s3:DeleteObjectTagging")
_TABLE = re.compile(r'INSERT INTO \\"([^"\\]+)\\"')


def check_as_aws_does() -> None:
    """Check endpoints too, batch calls of SQS and of inserts by the single right, and attributes of BatchGetItem.

    Only who may list a bucket learns that a file is missing. All is as with TLS, which the emulator lacks.
    """
    actions: Any = import_module("ministack.core.iam_actions")
    evaluator: Any = import_module("ministack.core.iam_evaluator")
    account_id = import_module("ministack.core.responses").get_account_id
    extract, enforce, resolve = actions.extract_iam_action, evaluator.enforce, evaluator.resolve_principal
    context, condition = actions.dynamodb_service_context, evaluator._resolve_condition_key
    checks = actions.dynamodb_transaction_checks

    def action_of(*arguments: Any) -> str | None:
        action: str | None = extract(*arguments)
        return action.removesuffix("Batch") if action and action.startswith("sqs:") else action

    def context_of(body: bytes) -> Any:
        tables = list(json.loads(body or b"{}").get("RequestItems", {}).values())
        one_read = len(tables) == 1 and isinstance(tables[0], dict)  # its attributes are named inside
        return context(json.dumps(tables[0]).encode() if one_read else body)

    def checks_of(action: str, body: bytes, *where: str) -> Any:
        tables = dict.fromkeys(_TABLE.findall(body.decode())) if action == "dynamodb:BatchExecuteStatement" else ()
        inserts = [("dynamodb:PartiQLInsert", actions._dynamodb_table_arn(table, *where)) for table in tables]
        return inserts or checks(action, body, *where)

    def limited(*arguments: Any) -> Any:
        principal = resolve(*arguments)
        if isinstance(principal, evaluator.PrincipalInfo) and principal.type == "AssumedRole":
            role = evaluator._role_name_from_assumed_arn(principal.arn)
            principal.limits.extend(_endpoint_policies(role))
        return principal

    def recorded(access_key: str, action: str, service: str, region: str, *rest: Any, **named: Any) -> Any:
        result = enforce(access_key, action, service, region, *rest, **named)
        principal = resolve(access_key or "", account_id())
        if isinstance(principal, evaluator.PrincipalInfo):
            resource, denied = named.get("resource_arn", "*"), isinstance(result, evaluator.EvalResult)
            decision = {"who": principal.arn, "action": action, "resource": resource, "denied": denied}
            with Path(os.environ["REHEARSAL_DECISIONS"]).open("a") as file:
                file.write(json.dumps(decision) + "\n")
        if result is None and action in _OF_A_FILE and (bucket := _bucket_without(named["resource_arn"])):
            return recorded(access_key, "s3:ListBucket", service, region, resource_arn=bucket)
        return result

    def condition_of(key: str, call: Any) -> Any:
        return "true" if key == "aws:SecureTransport" else condition(key, call)

    actions.extract_iam_action = action_of
    evaluator._resolve_condition_key = condition_of
    actions.dynamodb_service_context = context_of
    actions.dynamodb_transaction_checks = checks_of
    evaluator.resolve_principal = limited
    evaluator.enforce = recorded


def _bucket_without(file: str) -> str | None:
    """The ARN of the bucket that a file is missing in."""
    bucket, _, name = file.partition("/")
    found = import_module("ministack.services.s3")._buckets.get(bucket.rpartition(":")[2])
    return bucket if found is not None and name not in found["objects"] else None


_subnets: dict[str, list[str]] = {}
"""The subnets of functions in a VPC, by the name of their role. The emulator keeps no network of a function."""


def remember_network(properties: dict[str, Any]) -> dict[str, Any]:
    """Remember the subnets of a function that CloudFormation creates or updates."""
    _subnets[properties["Role"].rpartition("/")[2]] = properties.get("VpcConfig", {}).get("SubnetIds", [])
    return properties


def _endpoint_policies(role: str) -> list[list[Any]]:
    """What the endpoints of the VPC allow together to a function with this role; empty for a function outside.

    As a permissions boundary does, it limits what the role allows.
    """
    ec2: Any = import_module("ministack.services.ec2")
    networks = {ec2._subnets[subnet]["VpcId"] for subnet in _subnets.get(role, ())}
    if not networks:
        return []
    policies = [one["PolicyDocument"] for one in ec2._vpc_endpoints.values() if one["VpcId"] in networks]
    statements = [one for policy in policies for one in policy["Statement"] if one["Principal"] == "*"]
    return [[import_module("ministack.core.iam_evaluator").parse_policy_document({"Statement": statements})]]
