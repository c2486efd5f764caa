"""Backs up the tables of a stack, and restores rows. Nothing here overwrites or deletes a row or a table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from localstage.core.errors import StageError

TABLE = "AWS::DynamoDB::Table"
WAIT_SECONDS = 3600.0
"""Longer than a backup takes; a restore of a large table takes hours."""
POLL_SECONDS = 2.0
_TAKEN = "TableAlreadyExistsException", "ResourceInUseException"


class TableError(StageError):
    """AWS refused a call, a table is not as expected, or a value is not allowed."""


@dataclass(frozen=True)
class Backup:
    """A finished backup of one table; ``table`` is its logical id in the template."""

    table: str
    arn: str


@dataclass(frozen=True)
class Restored:
    """A table that DynamoDB fills with the rows that ``source`` had at ``at``."""

    source: str
    name: str
    at: datetime


class Tables:
    """The tables of a deployed stack, with the credentials of the environment."""

    def __init__(self, stack: str) -> None:
        make: Any = boto3.client
        self._stack = stack
        self._stacks, self._tables = make("cloudformation"), make("dynamodb")

    def names(self) -> dict[str, str]:
        """The names of the tables by their logical ids.

        Raises:
            TableError: no such stack, or it has no table.
        """
        pages = self._stacks.get_paginator("list_stack_resources").paginate(StackName=self._stack)
        found = {
            one["LogicalResourceId"]: one["PhysicalResourceId"]
            for one in _call(pages.build_full_result)["StackResourceSummaries"]
            if one["ResourceType"] == TABLE
        }
        if not found:
            raise TableError(f"STACK: {self._stack} has no table")
        return found

    def name(self, table: str) -> str:
        """The name of a table by its logical id, such as ``ChatMessagesTable``.

        Raises:
            TableError: the stack has no such table; the message names those that it has.
        """
        names = self.names()
        if table not in names:
            raise TableError(f"TABLE: got {table!r}, {self._stack} has {', '.join(sorted(names))}")
        return names[table]

    def back_up(self, now: datetime) -> Iterator[Backup]:
        """Back up every table, and wait for each. DynamoDB keeps these backups until they are deleted.

        Raises:
            TableError: a backup failed; those before it exist.
        """
        label = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        started = {
            table: _call(self._tables.create_backup, TableName=name, BackupName=f"{self._stack}-{table}-{label}")
            for table, name in self.names().items()
        }
        for table, answer in started.items():
            arn = answer["BackupDetails"]["BackupArn"]
            self._wait_for_backup(table, arn)
            yield Backup(table, arn)

    def _wait_for_backup(self, table: str, arn: str) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while True:
            found = _call(self._tables.describe_backup, BackupArn=arn)["BackupDescription"]["BackupDetails"]
            if found["BackupStatus"] == "AVAILABLE":
                return
            if found["BackupStatus"] != "CREATING" or time.monotonic() > end:
                raise TableError(f"{table}: its backup is {found['BackupStatus']}, expected AVAILABLE: {arn}")
            time.sleep(POLL_SECONDS)

    def restore(self, table: str, at: str) -> Restored:
        """Begin to restore a table as of a time, into a new table beside it.

        Args:
            table: the logical id.
            at: ISO 8601 with a zone, such as ``2026-11-22T09:00:00Z``, in the table's window of recovery.

        Raises:
            TableError: not a time, a time outside of the window, or AWS refused; then nothing was made.
        """
        moment = _time(at)
        source = self.name(table)
        self._check_window(source, moment)
        target = f"{source}-restored-{moment:%Y%m%dT%H%M%SZ}"
        try:
            self._tables.restore_table_to_point_in_time(
                SourceTableName=source, TargetTableName=target, RestoreDateTime=moment
            )
        except ClientError as error:
            if error.response["Error"]["Code"] in _TAKEN:
                raise TableError(f"{target} exists already: it was restored before. Nothing was changed") from None
            raise _refused(error) from None
        except BotoCoreError as error:
            raise TableError(str(error)) from None
        return Restored(source, target, moment)

    def _check_window(self, name: str, moment: datetime) -> None:
        answer = _call(self._tables.describe_continuous_backups, TableName=name)["ContinuousBackupsDescription"]
        window = answer.get("PointInTimeRecoveryDescription", {})
        if window.get("PointInTimeRecoveryStatus") != "ENABLED":
            raise TableError(f"{name} has no point-in-time recovery; a backup may exist: aws dynamodb list-backups")
        first, last = window["EarliestRestorableDateTime"], window["LatestRestorableDateTime"]
        if not first <= moment <= last:
            raise TableError(
                f"AT: got {moment.isoformat()}, allowed is from {first.astimezone(UTC).isoformat()} "
                f"to {last.astimezone(UTC).isoformat()}"
            )

    def copy_rows(self, source: str, table: str) -> tuple[int, int]:
        """Copy the rows of the table ``source`` that ``table`` (a logical id) does not have.

        Returns how many were copied, and how many it had. Can be repeated, and may run beside writers.

        Raises:
            TableError: ``source`` does not exist, is not yet restored, or has other keys.
        """
        target = self.name(table)
        described = _call(self._tables.describe_table, TableName=source)["Table"]
        keys = _call(self._tables.describe_table, TableName=target)["Table"]["KeySchema"]
        if described["TableStatus"] != "ACTIVE":
            raise TableError(f"FROM: {source} is {described['TableStatus']}; wait until it is ACTIVE")
        if described["KeySchema"] != keys:
            raise TableError(f"FROM: {source} has other keys than {table}")
        absent = {"ConditionExpression": "attribute_not_exists(#key)"}
        absent_key = {"ExpressionAttributeNames": {"#key": keys[0]["AttributeName"]}}
        copied = had = 0
        token: dict[str, Any] = {}
        while True:
            page = _call(self._tables.scan, TableName=source, ConsistentRead=True, **token)
            for row in page["Items"]:
                try:
                    self._tables.put_item(TableName=target, Item=row, **absent, **absent_key)
                    copied += 1
                except self._tables.exceptions.ConditionalCheckFailedException:
                    had += 1
                except (ClientError, BotoCoreError) as error:
                    raise TableError(f"{copied} rows were copied, then: {error}; run it again") from None
            if not page.get("LastEvaluatedKey"):
                return copied, had
            token = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise TableError(f"AT: got {text!r}, allowed is ISO 8601 with a zone, such as 2026-11-22T09:00:00Z")
    return moment.astimezone(UTC)


def _call(operation: Any, **arguments: Any) -> Any:
    try:
        return operation(**arguments)
    except ClientError as error:
        raise _refused(error) from None
    except BotoCoreError as error:
        raise TableError(str(error)) from None


def _refused(error: ClientError) -> TableError:
    found = error.response["Error"]
    return TableError(f"{error.operation_name}: {found['Code']}: {found['Message']}")
