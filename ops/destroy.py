"""Deletes a stack with all its data, in the order that AWS needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import WaiterError

from headrace_client.cli.doctor_stage import CannotTell
from localstage.core.errors import StageError
from ops.aws import Stack, call, client
from ops.doctor_aws import depths

WAIT_SECONDS = 15.0
INTERFACE_MINUTES = 20
"""How long the network interfaces of disabled mappings, and then of deleted ones, are waited for."""
STACK_MINUTES = 90
BUCKET = "AWS::S3::Bucket"
KEPT = ("ArchiveBucket",)
"""Buckets that the template retains: they outlive their stack, with their files."""

Say = Callable[[str], None]


class DeletionError(StageError):
    """A stack cannot be deleted, or not completely."""


def loses(name: str) -> Iterator[str]:
    """What the deletion of the stack ``name`` deletes, one line each.

    Raises:
        DeletionError: there is no such stack.
        CannotTell: credentials that may not read it.
    """
    stack, found = _existing(name)
    yield f"{name} is {found['StackStatus']}, of {found['CreationTime']:%Y-%m-%d}. These would be deleted for ever:"
    for kind, what in (("AWS::DynamoDB::Table", "table"), ("AWS::Cognito::UserPool", "user pool")):
        yield from (f"  {what} {logical} ({physical})" for logical, physical in sorted(stack.ids(kind).items()))
    queues = depths(stack) if stack.ids("AWS::SQS::Queue") else {}
    yield from (f"  queue {logical}, {depth} messages" for logical, depth in sorted(queues.items()))
    yield from (f"  bucket {logical} with its files" for logical in sorted(_buckets(stack)))
    yield "  broker and cache, secrets, functions, and all logs"
    yield "To keep data, back up its tables first: docs/how-to/restore-a-table.md"


def destroy(name: str, say: Say) -> None:
    """Delete the stack ``name``; can be repeated after an error.

    Raises:
        DeletionError: something remains; says what.
        CannotTell: AWS refused a call.
    """
    stack, found = _existing(name)
    brokers = list(stack.ids("AWS::AmazonMQ::Broker").values())
    stop_mappings(stack, say)
    if found.get("EnableTerminationProtection"):
        call("cloudformation", "update_termination_protection", StackName=name, EnableTerminationProtection=False)
    _remove_protection(stack)
    for bucket in _buckets(stack).values():
        _empty(bucket)  # CloudFormation deletes no bucket with files
    say("deleting the stack; a broker takes about 10 minutes")
    _delete(str(found["StackId"]))
    for group in call("logs", "describe_log_groups", logGroupNamePrefix="/aws/amazonmq/")["logGroups"]:
        if any(broker in group["logGroupName"] for broker in brokers):
            call("logs", "delete_log_group", logGroupName=group["logGroupName"])
    say(f"{name} is deleted; docs/how-to/delete-a-stack.md says what remains")


def _existing(name: str) -> tuple[Stack, dict[str, Any]]:
    stack = Stack(name)
    found = stack.described()
    if found is None:
        raise DeletionError(f"STACK: there is no stack {name} in this account and Region")
    return stack, found


def stop_mappings(stack: Stack, say: Say) -> None:
    """Disable the event source mappings, and wait until their network interfaces are gone.

    Lambda removes these with the roles of the functions. Without the roles they would stay, and so would the security
    group and the subnets. If they stay while the mappings are disabled, the mappings are deleted.

    Raises:
        DeletionError: an interface stays.
    """
    group = stack.ids("AWS::EC2::SecurityGroup").get("BrokerSecurityGroup")
    mappings = stack.ids("AWS::Lambda::EventSourceMapping").values()
    for operation, more in (("update_event_source_mapping", {"Enabled": False}), ("delete_event_source_mapping", {})):
        for mapping in mappings:
            try:
                call("lambda", operation, UUID=mapping, **more)
            except CannotTell as error:
                if "ResourceNotFound" not in str(error):  # an earlier run has deleted it
                    raise
        end = time.monotonic() + INTERFACE_MINUTES * 60
        while left := _interfaces(group) if group else []:
            say(f"waiting for Lambda to remove {len(left)} network interfaces of mappings")
            time.sleep(WAIT_SECONDS)
            if time.monotonic() > end:
                break
        else:
            return
    raise DeletionError(f"Lambda has not removed {', '.join(left)}; the mappings are deleted. Run it again later")


def _interfaces(group: str) -> list[str]:
    """The interfaces with a security group that Lambda made; the broker has another one."""
    found = call("ec2", "describe_network_interfaces", Filters=[{"Name": "group-id", "Values": [group]}])
    return [
        one["NetworkInterfaceId"]
        for one in found["NetworkInterfaces"]
        if one.get("InterfaceType") == "lambda" or one.get("Description", "").startswith("AWS Lambda")
    ]


def _remove_protection(stack: Stack) -> None:
    for table in stack.ids("AWS::DynamoDB::Table").values():
        if call("dynamodb", "describe_table", TableName=table)["Table"].get("DeletionProtectionEnabled"):
            call("dynamodb", "update_table", TableName=table, DeletionProtectionEnabled=False)
            client("dynamodb").get_waiter("table_exists").wait(TableName=table)
    for pool in stack.ids("AWS::Cognito::UserPool").values():
        if call("cognito-idp", "describe_user_pool", UserPoolId=pool)["UserPool"].get("DeletionProtection") == "ACTIVE":
            call("cognito-idp", "update_user_pool", UserPoolId=pool, DeletionProtection="INACTIVE")


def _buckets(stack: Stack) -> dict[str, str]:
    """The buckets that are deleted with the stack, by logical id."""
    return {logical: bucket for logical, bucket in stack.ids(BUCKET).items() if logical not in KEPT}


def _empty(bucket: str) -> None:
    # A listing has 1,000 files at most, which are deleted in one call.
    while files := call("s3", "list_objects_v2", Bucket=bucket).get("Contents"):
        names = [{"Key": file["Key"]} for file in files]
        if left := call("s3", "delete_objects", Bucket=bucket, Delete={"Objects": names, "Quiet": True}).get("Errors"):
            raise DeletionError(f"{len(left)} files of {bucket} cannot be deleted: {left[0]['Code']}")


def _delete(stack_id: str) -> None:
    call("cloudformation", "delete_stack", StackName=stack_id)
    times = {"Delay": WAIT_SECONDS, "MaxAttempts": int(STACK_MINUTES * 60 / WAIT_SECONDS)}
    try:
        client("cloudformation").get_waiter("stack_delete_complete").wait(StackName=stack_id, WaiterConfig=times)
    except WaiterError as error:
        events = call("cloudformation", "describe_stack_events", StackName=stack_id)["StackEvents"]
        failed = [one for one in events if one["ResourceStatus"] == "DELETE_FAILED"]
        reasons = "; ".join(f"{one['LogicalResourceId']}: {one.get('ResourceStatusReason', '')}" for one in failed)
        raise DeletionError(f"the stack is not deleted; run it again. {reasons or error}") from None
