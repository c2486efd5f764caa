"""Checks how an emulator of DynamoDB answers the calls and errors that this project depends on.

Each check returns ``None`` when the answer is that of AWS, else a description of the difference. ``bench.emulators``
runs them, and those of ``checks_sqs.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

Client = Any
Check = Callable[[Client, str], str | None]

CHAT_TABLE: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [
        {"AttributeName": "roomId", "KeyType": "HASH"},
        {"AttributeName": "timestampSk", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"}
        for name in ("roomId", "timestampSk", "userId", "bucketId", "storedAt")
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "UserIndex",
            "KeySchema": [
                {"AttributeName": "userId", "KeyType": "HASH"},
                {"AttributeName": "timestampSk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        },
        {
            "IndexName": "TimeIndex",
            "KeySchema": [
                {"AttributeName": "bucketId", "KeyType": "HASH"},
                {"AttributeName": "timestampSk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["userId"]},
        },
        {
            "IndexName": "LateIndex",
            "KeySchema": [
                {"AttributeName": "roomId", "KeyType": "HASH"},
                {"AttributeName": "storedAt", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        },
    ],
}


def chat_item(number: int, *, rooms: int = 200, users: int = 500) -> dict[str, Any]:
    """Return chat message ``number`` in DynamoDB's wire form; its time grows with its number."""
    stamp = f"2025-11-21T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.{number:06d}Z"
    message_id = f"0199{number:028x}"
    return {
        "roomId": {"S": f"room-{number % rooms}"},
        "timestampSk": {"S": f"{stamp}#{message_id}#a1b2c3d4"},
        "userId": {"S": f"user-{number % users}"},
        "username": {"S": f"User {number % users}"},
        "message": {"S": f"message number {number}, about as long as people write in a chat"},
        "messageType": {"S": "TEXT"},
        "messageId": {"S": message_id},
        "timestamp": {"S": stamp},
        "bucketId": {"S": f"chat#{number % 8}"},
        "expiresAt": {"N": str(1_800_000_000 + number)},
    }


def puts(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the requests of one BatchWriteItem."""
    return [{"PutRequest": {"Item": item}} for item in items]


def refused(call: Callable[[], Any], code: str) -> str | None:
    try:
        call()
    except ClientError as error:
        seen = error.response["Error"]["Code"]
        return None if seen.endswith(code) else f"{seen}, not {code}"
    return "accepted"


def _duplicate_keys(db: Client, table: str) -> str | None:
    requests = puts([chat_item(900_001), chat_item(900_001)])
    return refused(lambda: db.batch_write_item(RequestItems={table: requests}), "ValidationException")


def _too_many(db: Client, table: str) -> str | None:
    requests = puts([chat_item(900_100 + n) for n in range(26)])
    return refused(lambda: db.batch_write_item(RequestItems={table: requests}), "ValidationException")


def _too_large(db: Client, table: str) -> str | None:
    item = chat_item(900_200) | {"message": {"S": "x" * (400 * 1024)}}
    return refused(lambda: db.put_item(TableName=table, Item=item), "ValidationException")


def _empty_key(db: Client, table: str) -> str | None:
    item = chat_item(900_201) | {"roomId": {"S": ""}}
    return refused(lambda: db.put_item(TableName=table, Item=item), "ValidationException")


def _empty_index_key(db: Client, table: str) -> str | None:
    item = chat_item(900_202) | {"userId": {"S": ""}}
    return refused(lambda: db.put_item(TableName=table, Item=item), "ValidationException")


def _long_number(db: Client, table: str) -> str | None:
    item = chat_item(900_203) | {"expiresAt": {"N": "1" * 39}}
    return refused(lambda: db.put_item(TableName=table, Item=item), "ValidationException")


def _walk(db: Client, table: str, *, forward: bool) -> list[str]:
    keys: list[str] = []
    extra: dict[str, Any] = {}
    while True:
        page = db.query(
            TableName=table,
            IndexName="UserIndex",
            KeyConditionExpression="userId = :u",
            ExpressionAttributeValues={":u": {"S": "walker"}},
            ScanIndexForward=forward,
            Limit=7,
            **extra,
        )
        if len(page["Items"]) > 7:
            return []
        keys += [item["timestampSk"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return keys
        extra = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _index_paging(db: Client, table: str) -> str | None:
    items = [chat_item(910_000 + n) | {"userId": {"S": "walker"}} for n in range(25)]
    db.batch_write_item(RequestItems={table: puts(items)})
    wanted = sorted(item["timestampSk"]["S"] for item in items)
    if _walk(db, table, forward=True) != wanted:
        return "wrong pages forward"
    return None if _walk(db, table, forward=False) == wanted[::-1] else "wrong pages backward"


def _any_script(db: Client, table: str) -> str | None:
    rooms = ["комната ☃", "комната ☃🎉", "[nick]|`^"]
    db.batch_write_item(RequestItems={table: puts([chat_item(915_000) | {"roomId": {"S": room}} for room in rooms])})
    for room in rooms:
        values, condition = {":r": {"S": room}, ":s": {"S": "2025"}}, "roomId = :r AND begins_with(timestampSk, :s)"
        page = db.query(TableName=table, KeyConditionExpression=condition, ExpressionAttributeValues=values)
        if [item["roomId"]["S"] for item in page["Items"]] != [room]:
            return f"{room}: {page['Count']} items"
    return None


def _add_to_set(db: Client, table: str) -> str | None:
    key = {name: chat_item(920_000)[name] for name in ("roomId", "timestampSk")}
    for value in ("a", "b", "a"):
        db.update_item(
            TableName=table, Key=key, UpdateExpression="ADD joins :j", ExpressionAttributeValues={":j": {"SS": [value]}}
        )
    joins = db.get_item(TableName=table, Key=key)["Item"]["joins"]["SS"]
    return None if sorted(joins) == ["a", "b"] else f"set is {joins}"


def _condition(db: Client, table: str) -> str | None:
    item = chat_item(920_001)
    db.put_item(TableName=table, Item=item)
    return refused(
        lambda: db.put_item(TableName=table, Item=item, ConditionExpression="attribute_not_exists(roomId)"),
        "ConditionalCheckFailedException",
    )


def _time_to_live(db: Client, table: str) -> str | None:
    db.update_time_to_live(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expiresAt"})
    state = db.describe_time_to_live(TableName=table)["TimeToLiveDescription"]["TimeToLiveStatus"]
    return None if state in ("ENABLED", "ENABLING") else state


def _point_in_time(db: Client, table: str) -> str | None:
    db.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    return None


def _transaction(db: Client, table: str) -> str | None:
    action = {"Put": {"TableName": table, "Item": chat_item(920_002)}}
    db.transact_write_items(TransactItems=[action])
    return None


DYNAMODB: dict[str, Check] = {
    "duplicate keys in a batch": _duplicate_keys,
    "26 items in a batch": _too_many,
    "item over 400 KB": _too_large,
    "empty key": _empty_key,
    "empty index key": _empty_index_key,
    "number of 39 digits": _long_number,
    "index pages, Limit, both directions": _index_paging,
    "keys in any script": _any_script,
    "ADD to a string set": _add_to_set,
    "conditional put": _condition,
    "UpdateTimeToLive": _time_to_live,
    "UpdateContinuousBackups": _point_in_time,
    "TransactWriteItems": _transaction,
}


def run(checks: dict[str, Check], client: Client, name: str) -> dict[str, str]:
    """Return the difference found by each failed check. A call that is refused or crashes counts as failed."""
    wrong: dict[str, str] = {}
    for title, check in checks.items():
        try:
            fault = check(client, name)
        except ClientError as error:
            fault = f"not available ({error.response['Error']['Code']})"
        except (BotoCoreError, KeyError, IndexError) as error:
            fault = f"answer not understood ({type(error).__name__})"
        if fault:
            wrong[title] = fault
    return wrong
