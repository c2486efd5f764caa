"""Calls of AWS with the credentials of the environment, and the resources of a stack."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from headrace_client.cli.doctor_stage import CannotTell

Resources = dict[str, dict[str, str]]
"""By type: logical and physical ids of the stack's resources; of nested stacks as ``BrokerMappings/PersistChat0``."""
NO_REGION = "no Region: set AWS_DEFAULT_REGION, or run aws configure"
GLOBAL = ("freetier",)
"""Services that answer in one Region only."""
NESTED = "AWS::CloudFormation::Stack"


def client(service: str) -> Any:
    """A client of a service of AWS."""
    make: Any = boto3.client
    return make(service, region_name="us-east-1") if service in GLOBAL else make(service)


def call(service: str, operation: str, **arguments: Any) -> Any:
    """Call AWS; the answer has all pages.

    Raises:
        CannotTell: credentials, a right or the service are missing, or AWS refused the call; says which.
    """
    try:
        of_service = client(service)
        if of_service.can_paginate(operation):
            return of_service.get_paginator(operation).paginate(**arguments).build_full_result()
        return getattr(of_service, operation)(**arguments)
    except ClientError as error:
        found = error.response.get("Error", {})
        raise CannotTell(f"{service} {operation}: {found.get('Code')}: {found.get('Message')}"[:300]) from None
    except NoRegionError:
        raise CannotTell(NO_REGION) from None
    except BotoCoreError as error:
        raise CannotTell(f"{service} {operation}: {error}") from None


class Stack:
    """A deployed stack, read with the credentials of the environment."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._resources: Resources = {}

    def described(self) -> dict[str, Any] | None:
        """What CloudFormation says of the stack: its status, parameters and outputs; ``None`` without it.

        Raises:
            CannotTell: credentials that may not read it.
        """
        try:
            found: dict[str, Any] = call("cloudformation", "describe_stacks", StackName=self.name)["Stacks"][0]
        except CannotTell as error:
            if "does not exist" in str(error):
                return None
            raise
        return None if found["StackStatus"] == "DELETE_COMPLETE" else found

    def ids(self, kind: str) -> dict[str, str]:
        """The physical ids of the resources of type ``kind``, by logical id."""
        if not self._resources:
            self._read(self.name, "")
        return self._resources.get(kind, {})

    def _read(self, name: str, of: str) -> None:
        for each in call("cloudformation", "list_stack_resources", StackName=name)["StackResourceSummaries"]:
            physical = each.get("PhysicalResourceId", "")
            if not physical or each.get("ResourceStatus") == "DELETE_COMPLETE":
                continue
            self._resources.setdefault(each["ResourceType"], {})[of + each["LogicalResourceId"]] = physical
            if each["ResourceType"] == NESTED:
                self._read(physical, f"{each['LogicalResourceId']}/")
