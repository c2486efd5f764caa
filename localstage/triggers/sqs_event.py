"""The event that Lambda builds from SQS messages, and the failed messages that a function's response names."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from localstage.triggers.rabbitmq_event import EVENT_LIMIT

Message = Mapping[str, Any]
"""A message as boto3's ``receive_message`` returns it."""

_OVERHEAD = len('{"Records":[]}')


def build_records(messages: Sequence[Message], queue_arn: str) -> list[bytes]:
    """Return one JSON record per message."""
    region = queue_arn.split(":")[3]
    return [_dump(_record(message, queue_arn, region)) for message in messages]


def build_event(records: Sequence[bytes]) -> bytes:
    """Return the whole event."""
    return b'{"Records":[' + b",".join(records) + b"]}"


def split(records: Sequence[bytes], batch_size: int) -> Iterator[slice]:
    """Yield slices of at most ``batch_size`` records and 6 MB each; a record alone in its slice may exceed it."""
    begin = size = 0
    for index, record in enumerate(records):
        grown = size + len(record) + 1
        if index > begin and (index - begin >= batch_size or grown + _OVERHEAD > EVENT_LIMIT):
            yield slice(begin, index)
            begin, grown = index, len(record) + 1
        size = grown
    if begin < len(records):
        yield slice(begin, len(records))


def failed_ids(payload: bytes, ids: set[str]) -> set[str]:
    """Return which message ids a partial batch response reports, by Lambda's rules.

    Nothing, null, an empty object or an empty list mean that all succeeded. An answer of another shape, an empty
    identifier, or one that was not in the batch mean that all failed.
    """
    try:
        answer = json.loads(payload or b"null")
    except ValueError:
        return ids
    if answer is None:
        return set()
    if not isinstance(answer, dict):
        return ids
    failures = answer.get("batchItemFailures")
    if failures is None:
        return set()
    if not isinstance(failures, list):
        return ids
    failed: set[str] = set()
    for entry in failures:
        identifier = entry.get("itemIdentifier") if isinstance(entry, dict) else None
        if not isinstance(identifier, str) or identifier not in ids:
            return ids
        failed.add(identifier)
    return failed


def _record(message: Message, queue_arn: str, region: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {
            name: _attribute(attribute) for name, attribute in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }
    if "MD5OfMessageAttributes" in message:
        record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return record


def _attribute(attribute: Mapping[str, Any]) -> dict[str, Any]:
    shaped: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": attribute["DataType"]}
    if "StringValue" in attribute:
        shaped["stringValue"] = attribute["StringValue"]
    if "BinaryValue" in attribute:
        shaped["binaryValue"] = b64encode(attribute["BinaryValue"]).decode()
    return shaped


def _dump(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
