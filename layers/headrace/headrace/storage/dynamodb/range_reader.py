"""Ranges over a DynamoDB table, through one Query call each.

botocore's own reading of an answer costs more than the rest of a Query (it walks each value against the service model),
so a call's body is built and its answer read here, where botocore lets others do so. Signing, endpoints, connections,
retries and errors remain botocore's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.runtime.aws import AWS_ERRORS, is_throttling
from headrace.storage.ports import RangeQuery, Rows

AT_ONCE = 8

_BODY = "HeadraceBody"
_ANSWER = "HeadraceAnswer"
_reading = threading.local()
"""``here`` while a reader's own Query runs in this thread: the answers of others' are botocore's to read."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class DynamoReader:
    """Reads through a botocore DynamoDB client, which others may use as well."""

    def __init__(self, client: Any) -> None:
        self._client = client
        events = client.meta.events
        events.register_first("before-parameter-build.dynamodb.Query", _take_body, unique_id="headrace-take")
        events.register_first("before-call.dynamodb.Query", _put_body, unique_id="headrace-put")
        events.register_first("before-parse.dynamodb.Query", _read_answer, unique_id="headrace-read")
        self._pool: ThreadPoolExecutor | None = None

    def read(self, query: RangeQuery) -> Rows:
        """Up to ``query.limit`` rows.

        Raises:
            StoreUnavailable: no answer in time; StoreThrottled: too many reads now.
        """
        body = _encode(_arguments(query)).encode()
        _reading.here = True
        try:
            answer = self._client.query(TableName=query.table, **{_BODY: body})
        except AWS_ERRORS as error:
            if is_throttling(error):
                raise StoreThrottled("the history is read too often right now; try again shortly") from error
            raise StoreUnavailable("the history cannot be read right now; try again shortly") from error
        finally:
            _reading.here = False
        answer = answer.get(_ANSWER, answer)
        more = answer.get("LastEvaluatedKey")
        return Rows([_plain(item) for item in answer["Items"]], _plain(more) if more else None)

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        """What :meth:`read` gives for each."""
        if len(queries) == 1:
            return [self.read(queries[0])]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(AT_ONCE, "reader")
        return list(self._pool.map(self.read, queries))


def _take_body(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    if _BODY in params:
        context[_BODY] = params.pop(_BODY)


def _put_body(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    if _BODY in context:
        params["body"] = context[_BODY]


def _read_answer(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Read the answer instead of botocore, unless it is an error, or no answer at all."""
    if getattr(_reading, "here", False) and response_dict["status_code"] == 200:
        try:
            customized_response_dict[_ANSWER] = json.loads(response_dict["body"])
        except ValueError:
            return
        response_dict["body"] = b"{}"


def _arguments(query: RangeQuery) -> dict[str, Any]:
    condition, values = "#p = :p", {":p": {"S": query.partition}}
    if query.lower is not None:
        values[":lower"] = {"S": query.lower}
    if query.upper is not None:
        values[":upper"] = {"S": query.upper}
    # A key condition may name the sort key once; no key equals an upper bound, so BETWEEN leaves it out.
    if query.lower is not None and query.upper is not None:
        condition += " AND #s BETWEEN :lower AND :upper"
    elif query.lower is not None:
        condition += " AND #s >= :lower"
    elif query.upper is not None:
        condition += " AND #s < :upper"
    names = {"#p": query.partition_attribute}
    if len(values) > 1:
        names["#s"] = query.sort_attribute
    arguments: dict[str, Any] = {
        "TableName": query.table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ScanIndexForward": not query.newest_first,
        "Limit": query.limit,
    }
    if query.unexpired_at is not None:
        arguments["FilterExpression"] = "attribute_not_exists(#e) OR #e > :now"
        names["#e"] = "expiresAt"
        values[":now"] = {"N": str(query.unexpired_at)}
    if query.attributes:
        chosen = {f"#a{number}": name for number, name in enumerate(query.attributes)}
        arguments["ProjectionExpression"] = ",".join(chosen)
        names.update(chosen)
    if query.index is not None:
        arguments["IndexName"] = query.index
    elif query.consistent:
        arguments["ConsistentRead"] = True  # an index cannot be read so
    if query.start is not None:
        arguments["ExclusiveStartKey"] = {name: {"S": value} for name, value in query.start.items()}
    return arguments


def _plain(item: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Texts and whole numbers as Python has them: boto3's own deserializer costs ten times as much."""
    plain: dict[str, Any] = {}
    for name, value in item.items():
        kind, content = next(iter(value.items()))
        plain[name] = int(content) if kind == "N" else content
    return plain
