"""One SQS queue for asyncio: boto3 in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from localstage.triggers.sqs_event import Message

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LONG_POLL = 1
"""Seconds. Lambda waits up to 20; here a running poll would delay the end of the stage."""
_AT_ONCE = 10
"""SQS takes and gives at most ten messages per call."""
_DELETED_BEFORE = "ReceiptHandleIsInvalid"
"""An emulator's error for a message that the function itself has deleted. SQS reports success."""

_T = TypeVar("_T")


class QueueUnavailable(Exception):
    """The endpoint does not answer, or refuses a call; the message is for the user."""


def make_client(endpoint: str, region: str, credentials: tuple[str, str, str | None]) -> SQSClient:
    """Return a client of the emulator at a URL."""
    # The trigger retries and logs it; a read must outlast the long poll.
    config = Config(connect_timeout=3, read_timeout=LONG_POLL + 10, retries={"total_max_attempts": 1})
    session = boto3.session.Session(*credentials, region)
    return session.client("sqs", endpoint_url=endpoint, config=config)


def queue_arn(url: str, region: str) -> str:
    """Return the ARN of the queue at ``https://host/account/name``."""
    account, name = urlsplit(url).path.strip("/").split("/")[-2:]
    return f"arn:aws:sqs:{region}:{account}:{name}"


class SqsQueue:
    """Receives, deletes, releases and sends messages of one queue. Every method raises QueueUnavailable on failure."""

    def __init__(self, url: str, client_factory: Callable[[], SQSClient]) -> None:
        self._url = url
        self._factory = client_factory
        self._client: SQSClient | None = None
        self._lock = threading.Lock()

    async def receive(self, count: int, wait: int) -> list[Message]:
        """Return up to ``count`` messages (10 at most), waiting ``wait`` seconds for the first."""
        return await self._call(self._receive, min(count, _AT_ONCE), wait)

    async def delete(self, messages: Sequence[Message]) -> int:
        """Delete messages; return how many SQS did not delete (they return after their visibility timeout)."""
        return await self._call(self._delete, messages)

    async def release(self, messages: Sequence[Message]) -> None:
        """Make messages that no function has seen visible again at once."""
        await self._call(self._release, messages)

    async def send(self, body: str) -> None:
        """Send a message."""
        await self._call(lambda: self._sqs().send_message(QueueUrl=self._url, MessageBody=body))

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    async def _call(self, call: Callable[..., _T], *arguments: Any) -> _T:
        try:
            return await asyncio.to_thread(call, *arguments)
        except (BotoCoreError, HTTPClientError, ClientError) as error:
            raise QueueUnavailable(_describe(error)) from error

    def _sqs(self) -> SQSClient:
        with self._lock:
            if self._client is None:
                self._client = self._factory()
            return self._client

    def _receive(self, count: int, wait: int) -> list[Message]:
        answer: Any = self._sqs().receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=count,
            WaitTimeSeconds=wait,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: list[Message] = answer.get("Messages", [])
        return messages

    def _delete(self, messages: Sequence[Message]) -> int:
        failed = 0
        for begin in range(0, len(messages), _AT_ONCE):
            entries: Any = _entries(messages[begin : begin + _AT_ONCE])
            answer = self._sqs().delete_message_batch(QueueUrl=self._url, Entries=entries)
            failed += sum(entry.get("Code") != _DELETED_BEFORE for entry in answer.get("Failed", []))
        return failed

    def _release(self, messages: Sequence[Message]) -> None:
        for begin in range(0, len(messages), _AT_ONCE):
            entries: Any = _entries(messages[begin : begin + _AT_ONCE], VisibilityTimeout=0)
            self._sqs().change_message_visibility_batch(QueueUrl=self._url, Entries=entries)


def _entries(messages: Sequence[Message], **extra: int) -> list[dict[str, Any]]:
    return [
        {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"], **extra} for index, message in enumerate(messages)
    ]


def _describe(error: Exception) -> str:
    if isinstance(error, ClientError):
        return f"SQS answers {error.response.get('Error', {}).get('Code', 'an error')}"
    return f"SQS is not reachable ({type(error).__name__})"
