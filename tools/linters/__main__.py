"""Writes what CloudFormation and IAM get from template.yaml, for linters that know neither SAM nor its functions.

``stack.json`` is the template after AWS's own translation. ``policies/`` has one file per role, managed policy and
endpoint, with made-up ARNs, since a linter compares the form of an ARN with what an action takes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from localstage.template.translate import translate

ROOT = Path(__file__).resolve().parents[2]
REGION = "us-east-1"
ACCOUNT = "123456789012"
ARNS = {
    "AWS::AmazonMQ::Broker": "mq:{region}:{account}:broker:{name}:b-1",
    "AWS::DynamoDB::Table": "dynamodb:{region}:{account}:table/{name}",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}:*",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::SQS::Queue": "sqs:{region}:{account}:{name}",
    "AWS::SecretsManager::Secret": "secretsmanager:{region}:{account}:secret:{name}",
}
"""The form of an ARN by type of resource (https://docs.aws.amazon.com/service-authorization/latest/reference/)."""


def policies(resources: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every policy document of a translated template, with the logical id of its resource.

    Raises:
        KeyError: a policy names a resource whose type is not in ``ARNS``.
    """
    for name, resource in resources.items():
        properties = resource.get("Properties", {})
        inline = properties.get("Policies", []) if resource["Type"] == "AWS::IAM::Role" else []
        documents = [one["PolicyDocument"] for one in inline]
        if resource["Type"] in ("AWS::IAM::ManagedPolicy", "AWS::EC2::VPCEndpoint"):
            documents.append(properties["PolicyDocument"])
        for number, document in enumerate(documents):
            yield f"{name}.{number}", {"Version": "2012-10-17"} | _plain(document, resources)


def _plain(node: Any, resources: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(one, resources) for one in node]
    if not isinstance(node, dict):
        return node
    match node:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), "Arn"]}:
            return _text(name, resources)
        case {"Fn::If": [_, then, _]}:
            return _plain(then, resources)
        case {"Fn::Sub": str(text)} | {"Fn::Sub": [str(text), _]}:
            return re.sub(r"\$\{([^}]*)\}", lambda found: _text(found[1].removesuffix(".Arn"), resources), text)
    return {name: _plain(one, resources) for name, one in node.items()}


def _text(name: str, resources: dict[str, Any]) -> str:
    kind = resources.get(name, {}).get("Type")
    if kind in (None, "AWS::ApiGatewayV2::Api"):  # a pseudo parameter, a variable of Fn::Sub, or the id of an API
        return {"AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::Partition": "aws"}.get(name, "x")
    return "arn:aws:" + ARNS[kind].format(region=REGION, account=ACCOUNT, name=name)


def main(folder: Path) -> None:
    """Write the files to ``folder``."""
    (folder / "policies").mkdir(parents=True, exist_ok=True)
    document = translate(ROOT / "template.yaml", {}, REGION, folder).document
    for old in (folder / "policies").iterdir():
        old.unlink()
    (folder / "stack.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    for name, policy in policies(document["Resources"]):
        (folder / "policies" / f"{name}.json").write_text(json.dumps(policy, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
