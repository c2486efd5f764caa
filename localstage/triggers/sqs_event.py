"""The event that Lambda builds from SQS messages, and the failed messages that a function's response names."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]
"""A message as boto3's ``receive_message`` returns it."""


def build_event(messages: Sequence[Message], queue_arn: str) -> bytes:
    """Return the event of a batch. Ten messages of 256 KB are smaller than Lambda's 6 MB."""
    region = queue_arn.split(":")[3]
    records = [_record(message, queue_arn, region) for message in messages]
    return json.dumps({"Records": records}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def trace_of(messages: Sequence[Message]) -> str:
    """The trace header that SQS keeps of the request that sent the first message; empty if it had none."""
    return str(messages[0].get("Attributes", {}).get("AWSTraceHeader", "")) if messages else ""


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
