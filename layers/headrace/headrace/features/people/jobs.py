"""Long jobs, which run in slices: how an erasure or an export begins, its row, its queue and its progress."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from headrace.core import json, times
from headrace.core.errors import RetryLaneUnavailable
from headrace.core.items import Item
from headrace.core.json import encode
from headrace.runtime.aws import AwsClient, AwsError, call
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable, to_wire

State = Literal["running", "done", "withdrawn"]
RUNNING: State = "running"
DONE: State = "done"
STATE_NAME = {"ExpressionAttributeNames": {"#state": "state"}}
"""The name of the attribute with the state, a word of DynamoDB."""
MARGIN = 30.0
"""Seconds that an invocation keeps for its last part and for sending the next slice."""
LOST_AFTER = times.HOUR
"""From so long after its beginning, a request sends the task of a job again: it may have been lost."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of one erasure or export. Times are canonical; ``counts`` are of rows, events or lines.

    ``beside`` is the key of the skier who is erased or exported with a user, or of the owner who asked for a room.
    """

    began_at: str
    state: State
    beside: str | None = None
    done_at: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


J = TypeVar("J", bound=Job)


class DynamoJobs(ABC, Generic[J]):
    """Jobs by the key of their person or room, which is that of a row behind ``prefix``; every read is consistent.

    ``began_at`` and ``beside`` are the attributes with these of a job. Every method may raise StoreUnavailable.
    """

    kind: ClassVar[str]
    prefix: ClassVar[str] = ""
    began_at: ClassVar[str]
    beside: ClassVar[str]

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, self.kind)

    def get(self, key: str) -> J | None:
        """The last job."""
        row = self._table.get(self._key(key))
        return None if row is None else self._job(row)

    def begin(self, key: str, at: str, beside: str | None = None) -> J:
        """Begin a job at ``at``, unless one is running, or was begun then or later. Returns the last one."""
        row = {**self._key(key), self.began_at: at, "state": RUNNING, **self._more(at)}
        if beside is not None:
            row[self.beside] = beside
        try:
            self._table.put(
                row,
                ConditionExpression=f"attribute_not_exists(person) OR (#state <> :running AND {self.began_at} < :at)",
                ExpressionAttributeValues=to_wire({":running": RUNNING, ":at": at}),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **STATE_NAME,
            )
        except ConditionFailed as error:
            row = error.row
        return self._job(row)

    def _key(self, key: str) -> Item:
        return {"person": self.prefix + key}

    def _more(self, _at: str) -> Item:
        """Further attributes of a job that begins."""
        return {}

    @abstractmethod
    def _job(self, row: Item) -> J:
        """The job of a row."""


@dataclass(frozen=True, slots=True)
class TaskQueue:
    """Holds the next slices of jobs, of which each task is a dataclass, in the queue ``url`` of SQS."""

    url: str
    sqs: AwsClient
    subject: str

    def send(self, task: Any, delay: int = 0) -> None:
        """Send a slice, which begins after ``delay`` seconds (at most 900). Raises RetryLaneUnavailable."""
        try:
            call(self.sqs.send_message, QueueUrl=self.url, MessageBody=encode(asdict(task)), DelaySeconds=delay)
        except AwsError as error:
            raise RetryLaneUnavailable(f"the queue of {self.subject} is unavailable: {error.code}") from error


def requested(
    jobs: DynamoJobs[J], queue: TaskQueue, key: str, now: int, beside: str | None, task: Callable[[str], Any]
) -> J:
    """The job that runs, or a new one that begins at ``now`` (microseconds). ``task`` makes its task for a time."""
    job = jobs.get(key)
    if job is None or job.state != RUNNING:
        at = times.iso(now)
        # First the task, which also begins the job: if the request ends in between, it is not forgotten.
        queue.send(task(at))
        return jobs.begin(key, at, beside)
    if job.beside == beside and job.began_at < times.iso(now - LOST_AFTER):
        queue.send(task(job.began_at))
    return job


def slices(runner: Callable[[], Any], task: Callable[..., Any]) -> Callable[[dict[str, Any], Any], None]:
    """The handler that lets what ``runner`` builds run a slice, of a ``task`` that only Headrace sends.

    A batch has one message. If its slice fails, SQS delivers it again.
    """

    def handler(event: dict[str, Any], context: Any) -> None:
        for record in event["Records"]:
            runner().run(
                task(**json.decode(record["body"])), lambda: float(context.get_remaining_time_in_millis()) / 1000
            )

    return handler
