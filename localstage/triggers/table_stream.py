"""The stream of one table for asyncio (boto3 in threads), and the events that Lambda builds from its records."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

AT_ONCE = 1000
"""GetRecords returns at most so many records."""

Record = Mapping[str, Any]
"""A record as boto3's ``get_records`` returns it."""


class StreamUnavailable(Exception):
    """The endpoint does not answer, or refuses a call; the message is for the user."""


def make_stream_clients(endpoint: str, region: str, credentials: tuple[str, str, str | None]) -> tuple[Any, Any]:
    """Clients of DynamoDB and of its streams, of the emulator at a URL."""
    config = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 1})  # the trigger tries again
    session: Any = boto3.session.Session(*credentials, region)
    dynamodb, streams = (
        session.client(name, endpoint_url=endpoint, config=config) for name in ("dynamodb", "dynamodbstreams")
    )
    return dynamodb, streams


class TableStream:
    """Reads the stream of a table, which has one shard here. ``client_factory`` runs once, in a thread.

    Every method raises StreamUnavailable on failure.
    """

    def __init__(self, table: str, client_factory: Callable[[], tuple[Any, Any]]) -> None:
        self._table = table
        self._factory = client_factory
        self._clients: tuple[Any, Any] | None = None
        self._iterator = ""
        self.arn = ""
        self.shard = ""

    async def open(self, after: str) -> None:
        """Begin to read after the record with a sequence number, or with the oldest record if it is empty."""
        await asyncio.to_thread(self._explained, self._open, after)

    async def read(self) -> Sequence[Record]:
        """The next records; none if there are no further ones now."""
        records: Sequence[Record] = await asyncio.to_thread(self._explained, self._read)
        return records

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients or ():
            client.close()

    def _open(self, after: str) -> None:
        self._clients = self._clients or self._factory()
        dynamodb, streams = self._clients
        self.arn = dynamodb.describe_table(TableName=self._table)["Table"]["LatestStreamArn"]
        shards = streams.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]
        self.shard = shards[0]["ShardId"]
        start = {"ShardIteratorType": "TRIM_HORIZON"}
        if after:
            start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        found = streams.get_shard_iterator(StreamArn=self.arn, ShardId=self.shard, **start)
        self._iterator = found["ShardIterator"]

    def _read(self) -> Sequence[Record]:
        _, streams = self._clients or self._factory()
        answer = streams.get_records(ShardIterator=self._iterator, Limit=AT_ONCE)
        self._iterator = answer["NextShardIterator"]
        records: Sequence[Record] = answer["Records"]
        return records

    def _explained(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except KeyError as error:
            raise StreamUnavailable(f"table {self._table} has no {error}") from error
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "an error")
            raise StreamUnavailable(f"the stream of {self._table} answers {code}") from error
        except (BotoCoreError, HTTPClientError) as error:
            raise StreamUnavailable(f"the stream of {self._table} is not reachable") from error


def number_of(record: Record) -> str:
    """The sequence number of a record: larger numbers are later changes."""
    return str(record["dynamodb"]["SequenceNumber"])


def time_of(record: Record) -> float:
    """When a change was made, in seconds."""
    at: datetime = record["dynamodb"]["ApproximateCreationDateTime"]
    return at.timestamp()


def partition_of(record: Record) -> str:
    """The keys whose changes stay in order: in one lane. The partition key is the first of the keys."""
    return str(next(iter(record["dynamodb"]["Keys"].values())))


def build_event(records: Sequence[Record], arn: str) -> bytes:
    """The event of a batch."""
    named = [{**record, "eventSourceARN": arn} for record in records]
    return json.dumps({"Records": named}, default=_plain, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"not JSON: {type(value).__name__}")


def build_failure(records: Sequence[Record], arn: str, shard: str, function: str) -> str:
    """What Lambda sends to the destination of records that it gives up: where they are, and not what they hold."""
    where = {
        "shardId": shard,
        "startSequenceNumber": number_of(records[0]),
        "endSequenceNumber": number_of(records[-1]),
        "approximateArrivalOfFirstRecord": _iso(records[0]),
        "approximateArrivalOfLastRecord": _iso(records[-1]),
        "batchSize": len(records),
        "streamArn": arn,
    }
    context = {"functionArn": function, "condition": "RecordAgeExceeded"}
    return json.dumps({"requestContext": context, "version": "1.0", "DDBStreamBatchInfo": where})


def _iso(record: Record) -> str:
    at: datetime = record["dynamodb"]["ApproximateCreationDateTime"]
    return at.isoformat()
