"""Objects in a bucket of S3."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

from headrace.core.errors import StoreUnavailable
from headrace.core.times import iso
from headrace.runtime.aws import AwsClient, AwsError, call

_PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - frozenset('"%\\')
_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict")


class Objects:
    """The objects of one bucket by name. A link has the rights of ``client``. Methods raise StoreUnavailable."""

    def __init__(self, client: AwsClient, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def names(self, prefix: str) -> Iterator[str]:
        """All names that begin with ``prefix``, in their order."""
        return (name for name, _ in self.dated_names(prefix))

    def dated_names(self, prefix: str, after: str = "") -> Iterator[tuple[str, datetime]]:
        """As :meth:`names`, those that follow ``after``, with the time at which each object was written."""
        start = {"StartAfter": after} if after else {}
        while True:
            page = self._call(self._client.list_objects_v2, Prefix=prefix, **start)
            yield from ((each["Key"], each["LastModified"]) for each in page.get("Contents", ()))
            if not page["IsTruncated"]:
                return
            start = {"ContinuationToken": page["NextContinuationToken"]}

    def read(self, name: str) -> bytes:
        """An object that exists."""
        body: bytes = self._call(self._get, Key=name)["Body"]
        return body

    def _get(self, **parameters: Any) -> dict[str, Any]:
        answer = self._client.get_object(**parameters)
        return {**answer, "Body": answer["Body"].read()}

    def write(self, name: str, body: bytes) -> None:
        """Write an object, also over another one."""
        self._call(self._client.put_object, Key=name, Body=body, ContentType="application/gzip")

    def delete(self, name: str) -> None:
        """Delete an object, if it exists."""
        self._call(self._client.delete_object, Key=name)

    def link(self, name: str, shown: str, seconds: int, *, is_inline: bool = False) -> str:
        """A link that anybody can open for so many seconds.

        Browsers save the object as ``shown``, or show it with ``is_inline``.
        """
        how = "inline" if is_inline else "attachment"
        # RFC 6266: both names, because simple programs such as curl read the first one only.
        plain = "".join(each if each in _PLAIN else "_" for each in shown)
        disposition = f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(shown, safe='')}"
        parameters = {"Bucket": self._bucket, "Key": name, "ResponseContentDisposition": disposition}
        return str(self._client.generate_presigned_url("get_object", parameters, seconds))

    def lock(self, name: str, seconds: int) -> bool:
        """Make an object that is not there, or is older than ``seconds``. Of concurrent callers one succeeds."""
        body = iso(time.time_ns() // 1000).encode()
        if self._put_if(name, body, IfNoneMatch="*"):
            return True
        try:
            head = self._call(self._client.head_object, Key=name)
        except StoreUnavailable:
            return False  # just unlocked
        if time.time() - head["LastModified"].timestamp() < seconds:
            return False
        return self._put_if(name, body, IfMatch=head["ETag"])

    def _put_if(self, name: str, body: bytes, **condition: str) -> bool:
        try:
            call(self._client.put_object, expected=_TAKEN, Bucket=self._bucket, Key=name, Body=body, **condition)
        except AwsError as error:
            if error.code in _TAKEN:
                return False
            raise unavailable() from error
        return True

    def _call(self, operation: Callable[..., dict[str, Any]], **parameters: Any) -> dict[str, Any]:
        try:
            return call(operation, Bucket=self._bucket, **parameters)
        except AwsError as error:
            raise unavailable() from error


def unavailable() -> StoreUnavailable:
    """The error for a call that failed."""
    return StoreUnavailable("the bucket cannot be reached right now")
