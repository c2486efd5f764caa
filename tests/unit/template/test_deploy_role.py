"""The role that deploys has what a deployment needs, and cannot make a role that has more than a function."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import cfnlint  # type: ignore[import-untyped]

from localstage.template.document import parse
from tests.unit.template_stack import _MANAGED, ROOT, TemplateStack, as_list

PATH = ROOT / "ops" / "deploy-role.yaml"
TEMPLATE = parse(PATH.read_text(), PATH)
ROLE = TEMPLATE["Resources"]
SCHEMAS = Path(cfnlint.__file__).parent / "data" / "schemas" / "resources"
WITHOUT = (
    "kms:*|kinesis:*|firehose:*|*Kinesis*|billing:*|vpc-lattice:*|vpce:*|ram:*|route53:*|ec2:*CidrBlock",
    "s3tables:*|s3:*MetadataTable*|s3:UpdateBucketMetadata*|s3:GetObjectMetadata|s3:PutObjectAcl|s3:REST.PUT.OBJECT",
    "dynamodb:*Item|dynamodb:Query|dynamodb:Scan|dynamodb:ImportTable|dynamodb:*TableReplica|elasticfilesystem:*|s3files:*",
    "iam:*Group*|iam:*User*|iam:DeleteRolePermissionsBoundary|secretsmanager:*Replicat*|secretsmanager:GetRandomPassword",
    "lambda:PassCapacityProvider|lambda:GetCodeSigningConfig|logs:PutLogEvents|logs:*KmsKey|logs:PutBearer*",
)
"""Permissions of handlers for properties that no template of a stage has."""


def statements(*policies: str) -> list[dict[str, Any]]:
    return [each for name in policies for each in ROLE[name]["Properties"]["PolicyDocument"]["Statement"]]


def actions(*policies: str) -> list[str]:
    return [action for each in statements(*policies) for action in as_list(each["Action"])]


RIGHTS = actions("Stack", "Data", "Network")


def lacking(needed: Iterable[str], patterns: Iterable[str]) -> set[str]:
    """What none of the patterns matches; IAM reads no case."""
    known = [each.lower() for each in patterns]
    return {one for one in needed if not any(fnmatchcase(one.lower(), each) for each in known)}


def test_it_may_what_the_handlers_of_every_resource_type_call(template_stack: TemplateStack) -> None:
    """By the schemas that cfn-lint has."""
    nested = "".join(path.read_text() for path in (ROOT / "templates").glob("*.yaml"))
    types = {one["Type"] for one in template_stack.resources.values()} | set(re.findall(r"AWS::\w+::\w+", nested))
    found = [one for path in SCHEMAS.glob("*.json") if (one := json.loads(path.read_text()))["typeName"] in types]
    handlers = [kind for one in found for name, kind in one.get("handlers", {}).items() if name != "list"]
    needed = {right for kind in handlers for right in kind.get("permissions", ())}
    without = [each for line in WITHOUT for each in line.split("|")]

    assert lacking(needed, [*RIGHTS, *without]) == set()
    assert [each for each in without if lacking(needed, [each]) == needed] == [], "no handler asks for it any more"


def test_its_boundary_holds_what_functions_may_and_nothing_of_iam(template_stack: TemplateStack) -> None:
    roles = {name for name, _ in template_stack.statements()} - template_stack.of_type("AWS::EC2::VPCEndpoint").keys()
    used = {right for name, one in template_stack.statements() if name in roles for right in as_list(one["Action"])}
    used |= {right for rights in _MANAGED.values() for right in rights}

    assert lacking(used, actions("Boundary")) == set()
    assert [each for each in actions("Boundary") if re.match(r"(\*|iam|sts):?", each)] == []


def test_it_gives_a_policy_to_no_role_without_the_boundary() -> None:
    gives = [each for each in statements("Stack") if lacking(("iam:PutRolePolicy",), as_list(each["Action"])) == set()]

    assert [each["Condition"] for each in gives] == [{"StringEquals": {"iam:PermissionsBoundary": {"Ref": "Boundary"}}}]


def test_it_cannot_change_its_own_policies_whatever_the_name_of_its_stack() -> None:
    """It may change what begins with the name of the stage, and no stage has a name that its own names begin with."""
    names = [one["Properties"].get("ManagedPolicyName") or one["Properties"]["RoleName"] for one in ROLE.values()]
    pattern = re.compile(TEMPLATE["Parameters"]["StackName"]["AllowedPattern"])
    stages = ["deploy", "deploy-headrace", "boundary", "boundary-headrace-prod", "headrace-prod", "deployer"]

    assert [one for one in names if not re.match(r"(deploy|boundary)-\$\{StackName\}", one["Fn::Sub"])] == []
    assert [one for one in stages if pattern.fullmatch(one)] == ["headrace-prod", "deployer"]


def test_cloudformation_shortens_no_name_that_its_patterns_have_to_match(template_stack: TemplateStack) -> None:
    """A name that is too long keeps 25 characters of its stack's, as seen in stacks of others; AWS documents none."""
    random, roles = "-1T6EMIU72SCD3", [f"-{name}" for name in template_stack.of_type("AWS::IAM::Role")]
    stage = TEMPLATE["Parameters"]["StackName"]["MaxLength"]

    assert max(len(each) for each in ("deploy-", *(name + random for name in roles))) + stage <= 64
    assert stage + len(f"-ConsoleStack{random}-Files{random}") <= 63
