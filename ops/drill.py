"""A rehearsed loss of rows: backup, restore, and copying rows back, on an emulated DynamoDB (moto).

moto restores the present rows whatever time is asked for. So the drill restores before rows are lost.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3

from localstage.template.translate import translate
from ops.tables import TABLE, TableError, Tables

ROOT = Path(__file__).resolve().parents[1]
ROWS, LOST = 30, 12
REGION = "us-east-1"
ONLY_AWS = (
    "only AWS shows: that rows are those of the time; how long a restore takes; that a restored table lacks time to "
    "live, point-in-time recovery and deletion protection; that a backup survives its table"
)


@contextmanager
def emulator() -> Iterator[str]:
    """An empty AWS on a free port of this machine; the AWS clients of this process use it."""
    from moto.server import ThreadedMotoServer  # a test package: the other commands do not need it

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    settings = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "drill",
        "AWS_SECRET_ACCESS_KEY": "drill",
        "AWS_DEFAULT_REGION": REGION,
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield url
    finally:
        server.stop()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def drill() -> Iterator[str]:
    """Run the drill against the AWS of the environment, which must be an emulator; yields a line for each step.

    Raises:
        TableError: a row is missing or was changed at the end.
    """
    dynamodb: Any = boto3.client("dynamodb")
    stack = f"drill-{uuid.uuid4().hex[:8]}"
    _make_tables(stack)
    tables = Tables(stack)
    names = tables.names()
    messages = names["ChatMessagesTable"]
    _write(dynamodb, messages, range(ROWS))
    yield f"made the {len(names)} tables of template.yaml, with {ROWS} messages"

    made = {one.table: one.arn for one in tables.back_up(datetime.now(UTC))}
    if made.keys() != names.keys():
        raise TableError(f"backups of {sorted(made)}, expected of {sorted(names)}")
    yield f"backed up {len(made)} tables"

    # moto's stacks do not turn it on, as those of AWS do.
    recovery = {"PointInTimeRecoveryEnabled": True}
    window = dynamodb.update_continuous_backups(TableName=messages, PointInTimeRecoverySpecification=recovery)[
        "ContinuousBackupsDescription"
    ]
    at = window["PointInTimeRecoveryDescription"]["LatestRestorableDateTime"]
    restored = tables.restore("ChatMessagesTable", at.isoformat())
    yield f"restored into {restored.name}"

    for number in range(LOST):
        dynamodb.delete_item(TableName=messages, Key=_key(number))
    changed = _key(LOST) | {"message": {"S": "written after the restore"}}
    dynamodb.put_item(TableName=messages, Item=changed)
    copied, had = tables.copy_rows(restored.name, "ChatMessagesTable")
    rows = {one["timestampSk"]["S"]: one for one in dynamodb.scan(TableName=messages)["Items"]}
    if (copied, had, len(rows)) != (LOST, ROWS - LOST, ROWS) or rows[changed["timestampSk"]["S"]] != changed:
        raise TableError(f"{LOST} of {ROWS} rows were lost: {copied} copied back, {had} kept, {len(rows)} at the end")
    yield f"lost {LOST} messages, and copied them back; a newer one was kept"

    for number in range(ROWS):
        dynamodb.delete_item(TableName=messages, Key=_key(number))
    copy = f"{messages}-from-backup"
    dynamodb.restore_table_from_backup(TargetTableName=copy, BackupArn=made["ChatMessagesTable"])
    copied, _ = tables.copy_rows(copy, "ChatMessagesTable")
    if copied != ROWS:
        raise TableError(f"the backup has {copied} rows, expected {ROWS}")
    yield f"lost all messages, and copied {copied} back from the backup"
    yield ONLY_AWS


def _make_tables(stack: str) -> None:
    """The tables of template.yaml as a stack."""
    with tempfile.TemporaryDirectory() as folder:
        document = translate(ROOT / "template.yaml", {}, REGION, Path(folder)).document
    resources = {name: one for name, one in document["Resources"].items() if one["Type"] == TABLE}
    body = {part: document[part] for part in ("Parameters", "Conditions")} | {"Resources": resources}
    client: Any = boto3.client("cloudformation")
    client.create_stack(StackName=stack, TemplateBody=json.dumps(body))


def _key(number: int) -> dict[str, Any]:
    return {"roomId": {"S": "drill"}, "timestampSk": {"S": f"{number:05d}"}}


def _write(dynamodb: Any, table: str, numbers: range) -> None:
    for number in numbers:
        dynamodb.put_item(TableName=table, Item=_key(number) | {"message": {"S": "hello"}})
