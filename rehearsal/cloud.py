"""The emulated AWS account: MiniStack with IAM enforced, and questions about its stacks."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from localstage.core.model import ACCOUNT
from localstage.services import install
from localstage.services.aws import MiniStack

ROOT = Path(__file__).parents[1]
REGION = "us-east-1"
_LOCK = ROOT / "requirements" / "rehearsal.txt"
_INVOKE_SECONDS = 90
_ALIAS = "live"
_IMAGE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""
_OLD = {"uploaded-at": "2020-01-01T00:00:00.000Z"}
_KEPT_ROLE = "ApiGatewayLogs"  # docs/how-to/delete-a-stack.md says why


@dataclass(eq=False, kw_only=True)
class Cloud(MiniStack):
    """MiniStack with :mod:`rehearsal.shim`. It keeps everything in memory."""

    name = "AWS (MiniStack)"
    port_name = "cloud"
    app = "rehearsal.shim:app"
    patience_at_start = 30.0

    runtime: Path
    machines_url: str
    issuer_url: str
    issuer_key: Path

    @property
    def decisions(self) -> Path:
        """The file of decisions about rights."""
        return self.folder / "decisions.jsonl"

    def settings(self) -> dict[str, str]:
        return {
            "AUTH": "true",
            # Functions are processes.
            "LAMBDA_EXECUTOR": "local",
            "REHEARSAL_MACHINES": self.machines_url,
            "REHEARSAL_ISSUER": self.issuer_url,
            "REHEARSAL_ISSUER_KEY": str(self.issuer_key),
            "STATE_DIR": str(self.folder),
            "REHEARSAL_DECISIONS": str(self.decisions),
            "REHEARSAL_RUNTIME": str(self.runtime),
        }

    async def launch(self) -> str:
        self.decisions.touch()
        return await super().launch()

    @property
    def variables(self) -> dict[str, str]:
        """What makes an AWS client use this account, as its root user."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "rehearsal",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(self.folder / "no-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "no-credentials"),
        }


async def ensure_cloud(state_dir: Path, python: Path) -> Path:
    """Make the emulator's environment with this interpreter, which its functions run on; returns its Python.

    Raises:
        ServiceError: it could not be installed.
    """
    return await install.ensure_environment(state_dir / f"cloud-{python.name}", _LOCK, "the AWS emulator", python)


@dataclass(frozen=True)
class Resource:
    """A resource of a stack, or of a stack nested in it."""

    id: str
    physical_id: str
    type: str


class Account:
    """Questions about the stacks of an emulated account. Its methods block."""

    def __init__(self, cloud: Cloud) -> None:
        self.decisions = cloud.decisions
        config = Config(retries={"max_attempts": 3}, read_timeout=_INVOKE_SECONDS)
        session: Any = boto3.session.Session(ACCOUNT, "rehearsal", region_name=REGION)  # the root user

        def client(service: str) -> Any:
            return session.client(service, endpoint_url=cloud.url, config=config)

        self._stacks, self._functions, self._roles = client("cloudformation"), client("lambda"), client("iam")
        self._tables, self._queues, self._secrets = client("dynamodb"), client("sqs"), client("secretsmanager")
        self._files, self._zones = client("s3"), client("route53")

    def status(self, stack: str) -> str:
        """The status of a stack, such as ``CREATE_COMPLETE``; ``gone`` without it."""
        try:
            (found,) = self._stacks.describe_stacks(StackName=stack)["Stacks"]
        except ClientError as error:
            if "does not exist" in str(error):
                return "gone"
            raise
        return "gone" if found["StackStatus"] == "DELETE_COMPLETE" else str(found["StackStatus"])

    def parameter(self, stack: str, name: str) -> str:
        """The value of a parameter of a stack."""
        (found,) = self._stacks.describe_stacks(StackName=stack)["Stacks"]
        return next(str(one["ParameterValue"]) for one in found["Parameters"] if one["ParameterKey"] == name)

    def failures(self, stack: str) -> list[str]:
        """The reasons of a stack's failed resources, the first first; none without the stack."""
        if self.status(stack) == "gone":
            return []
        pages = self._stacks.get_paginator("describe_stack_events").paginate(StackName=stack)
        events = [one for page in pages for one in page["StackEvents"]]
        failed = [one for one in reversed(events) if one["ResourceStatus"].endswith("_FAILED")]
        return [f"{one['LogicalResourceId']}: {one.get('ResourceStatusReason', '')}" for one in failed]

    def resources(self, stack: str) -> list[Resource]:
        """The resources of a stack and of those nested in it, without deleted ones."""
        found = []
        for page in self._stacks.get_paginator("list_stack_resources").paginate(StackName=stack):
            for one in page["StackResourceSummaries"]:
                if one["ResourceStatus"] != "DELETE_COMPLETE":
                    id_ = one.get("PhysicalResourceId", "")
                    found.append(Resource(one["LogicalResourceId"], id_, one["ResourceType"]))
        nested = [one.physical_id for one in found if one.type == "AWS::CloudFormation::Stack"]
        return found + [one for stack in nested for one in self.resources(stack)]

    def function(self, stack: str, id_: str) -> str:
        """A function by its logical id in the template: the ARN of the alias that the HTTP API calls, else its name."""
        try:
            found = self._stacks.describe_stack_resource(StackName=stack, LogicalResourceId=f"{id_}Alias{_ALIAS}")
        except ClientError:  # no such resource
            found = self._stacks.describe_stack_resource(StackName=stack, LogicalResourceId=id_)
        return str(found["StackResourceDetail"]["PhysicalResourceId"])

    def variable(self, function: str, name: str) -> str:
        """The value of an environment variable of a function."""
        found = self._functions.get_function_configuration(FunctionName=function)
        return str(found["Environment"]["Variables"][name])

    def invoke(self, function: str, event: bytes) -> Any:
        """Invoke a function, and return its answer: a JSON value."""
        return json.loads(self.result(function, event)[0] or b"null")

    def result(self, function: str, event: bytes) -> tuple[bytes, str | None]:
        """Invoke a function, and return the bytes of its answer, and the kind of its error if it failed."""
        answer = self._functions.invoke(FunctionName=function, Payload=event)
        return answer["Payload"].read(), answer.get("FunctionError")

    def secret(self, arn: str) -> Any:
        """The value of a secret: a JSON value."""
        return json.loads(self._secrets.get_secret_value(SecretId=arn)["SecretString"])

    def denials(self, stack: str) -> list[Mapping[str, Any]]:
        """The calls of a stack's functions that were denied so far: ``who``, ``action`` and ``resource``."""
        return [each for each in self._calls(f"/{stack}-") if each["denied"]]

    def unused_rights(self, stack: str) -> list[str]:
        """Each action on a resource that a role of a stack allows and that no call has needed so far."""
        unused = []
        for role in (one for one in self.resources(stack) if one.type == "AWS::IAM::Role"):
            calls = [each for each in self._calls(f"/{role.physical_id}/") if not each["denied"]]
            for action, resource in self._rights(role.physical_id):
                if not any(action == each["action"] and fnmatchcase(each["resource"], resource) for each in calls):
                    unused.append(f"{role.id}: {action} on {resource}")
        return unused

    def _rights(self, role: str) -> Iterator[tuple[str, str]]:
        """The actions and resources that the policies inside a role allow: none on the resources of another service."""
        for name in self._roles.list_role_policies(RoleName=role)["PolicyNames"]:
            for one in self._roles.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]["Statement"]:
                if one["Effect"] == "Allow":
                    actions, resources = (
                        [each] if isinstance(each, str) else each for each in (one["Action"], one["Resource"])
                    )
                    for action, resource in product(actions, resources):
                        if resource == "*" or resource.split(":")[2] == action.partition(":")[0]:
                            yield action, resource

    def _calls(self, who: str) -> list[Mapping[str, Any]]:
        whole = self.decisions.read_text().rpartition("\n")[0]  # MiniStack may be writing the last line
        return [each for each in map(json.loads, whole.splitlines()) if who in each["who"]]

    def make_zone(self, name: str) -> str:
        """Make a hosted zone outside of any stack; its id."""
        return str(
            self._zones.create_hosted_zone(Name=name, CallerReference=name)["HostedZone"]["Id"].rpartition("/")[2]
        )

    def make_queue(self, name: str) -> str:
        """Make a queue outside of any stack; its ARN."""
        url = self._queues.create_queue(QueueName=name)["QueueUrl"]
        found = self._queues.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(found["Attributes"]["QueueArn"])

    def received(self, name: str) -> list[Any]:
        """The bodies of some messages of a queue, which are JSON; deletes them."""
        url = self._queues.get_queue_url(QueueName=name)["QueueUrl"]
        messages = self._queues.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        for one in messages.get("Messages", []):
            self._queues.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
        return [json.loads(one["Body"]) for one in messages.get("Messages", [])]

    def put_dead_letters(self, stack: str, *bodies: str) -> None:
        """Put messages into the dead lane of a stack, as SQS does after five tries."""
        (url,) = [one.physical_id for one in self.resources(stack) if one.id == "DeadLetterQueue"]
        for body in bodies:
            self._queues.send_message(QueueUrl=url, MessageBody=body)

    def put_files(self, stack: str, *names: str) -> None:
        """Upload an image under each name, as clients do for messages, and one that no message shows any more."""
        (bucket,) = [one.physical_id for one in self.resources(stack) if one.id == "AttachmentsBucket"]
        old = f"{'0' * 64}/pantry/aaaq{'e' * 22}"  # of a day on which the stage kept messages for one day
        for name, metadata in (*((name, {}) for name in names), (old, _OLD)):
            self._files.put_object(
                Bucket=bucket,
                Key=name,
                Body=_IMAGE,
                ContentType="image/png",
                Tagging="state=unnamed",
                Metadata=metadata,
            )

    def left_over(self, stack: str) -> list[str]:
        """Functions, tables, queues and roles of a deleted stack that still exist, without those that it keeps."""
        prefix, kept = f"{stack}-", f"{stack}-{_KEPT_ROLE}-"
        names = [one["FunctionName"] for one in self._functions.list_functions()["Functions"]]
        names += self._tables.list_tables()["TableNames"]
        names += [url.rpartition("/")[2] for url in self._queues.list_queues().get("QueueUrls", [])]
        names += [one["RoleName"] for one in self._roles.list_roles()["Roles"]]
        return sorted(name for name in names if name.startswith(prefix) and not name.startswith(kept))
