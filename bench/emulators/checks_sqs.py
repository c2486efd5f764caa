"""Checks how an emulator of SQS answers the calls and errors that this project depends on."""

from __future__ import annotations

import time
from typing import Any

from botocore.exceptions import ClientError

from bench.emulators.checks import Check, Client, refused


def _queue(sqs: Client, name: str, **attributes: str) -> str:
    return str(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])


def _receive(sqs: Client, url: str, wait: float = 0) -> list[dict[str, Any]]:
    """Receive once, trying again until ``wait`` seconds are over."""
    deadline = time.monotonic() + wait
    while True:
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"])
        if answer.get("Messages") or time.monotonic() >= deadline:
            return list(answer.get("Messages", []))
        time.sleep(0.1)


def _visibility(sqs: Client, name: str) -> str | None:
    url = _queue(sqs, f"{name}-visibility", VisibilityTimeout="1")
    sqs.send_message(QueueUrl=url, MessageBody="one")
    first = _receive(sqs, url)
    if [message["Body"] for message in first] != ["one"]:
        return "not received"
    if _receive(sqs, url):
        return "seen twice at once"
    again = _receive(sqs, url, wait=4)
    if not again:
        return "never visible again"
    count = again[0]["Attributes"].get("ApproximateReceiveCount")
    if count != "2":
        return f"receive count {count}"
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=again[0]["ReceiptHandle"], VisibilityTimeout=0)
    third = _receive(sqs, url, wait=1)
    if not third:
        return "ChangeMessageVisibility 0 does nothing"
    sqs.delete_message(QueueUrl=url, ReceiptHandle=third[0]["ReceiptHandle"])
    time.sleep(1.2)
    return "deleted message came back" if _receive(sqs, url) else None


def _with_dead_letters(sqs: Client, name: str, receives: int) -> tuple[str, str, str]:
    dead = _queue(sqs, f"{name}-dead")
    dead_arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = f'{{"deadLetterTargetArn":"{dead_arn}","maxReceiveCount":"{receives}"}}'
    source = _queue(sqs, f"{name}-source", VisibilityTimeout="0", RedrivePolicy=policy)
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    for _ in range(receives + 1):
        _receive(sqs, source)
    return source, dead, dead_arn


def _dead_letters(sqs: Client, name: str) -> str | None:
    source, dead, _ = _with_dead_letters(sqs, f"{name}-redrive", 2)
    if _receive(sqs, source):
        return "still in the source queue"
    return None if _receive(sqs, dead, wait=1) else "not in the dead-letter queue"


def _move_task(sqs: Client, name: str) -> str | None:
    source, _, dead_arn = _with_dead_letters(sqs, f"{name}-move", 1)
    sqs.start_message_move_task(SourceArn=dead_arn)
    return None if _receive(sqs, source, wait=3) else "nothing came back"


def _batch_failure(sqs: Client, name: str) -> str | None:
    url = _queue(sqs, f"{name}-batch")
    entries = [{"Id": "good", "MessageBody": "text"}, {"Id": "bad", "MessageBody": "bell \u0007"}]
    answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    good = [entry["Id"] for entry in answer.get("Successful", [])]
    bad = [entry["Id"] for entry in answer.get("Failed", [])]
    return None if (good, bad) == (["good"], ["bad"]) else f"sent {good}, refused {bad}"


def _bad_character(sqs: Client, name: str) -> str | None:
    url = _queue(sqs, f"{name}-character")
    return refused(lambda: sqs.send_message(QueueUrl=url, MessageBody="bell \u0007"), "InvalidMessageContents")


def _eleven(sqs: Client, name: str) -> str | None:
    url = _queue(sqs, f"{name}-eleven")
    entries = [{"Id": str(n), "MessageBody": "text"} for n in range(11)]
    return refused(lambda: sqs.send_message_batch(QueueUrl=url, Entries=entries), "TooManyEntriesInBatchRequest")


def _too_long(sqs: Client, name: str) -> str | None:
    url = _queue(sqs, f"{name}-long")
    try:
        sqs.send_message(QueueUrl=url, MessageBody="x" * (1024 * 1024 + 1))
    except ClientError:
        return None
    return "accepted"


SQS: dict[str, Check] = {
    "visibility timeout, receive count, delete": _visibility,
    "redrive to the dead-letter queue": _dead_letters,
    "SendMessageBatch with one bad entry": _batch_failure,
    "character that XML does not allow": _bad_character,
    "11 entries in a batch": _eleven,
    "message over 1 MiB": _too_long,
    "StartMessageMoveTask": _move_task,
}
