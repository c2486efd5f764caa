"""The files of messages in S3. Tags hold the state and the owner of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from headrace.runtime.aws import AwsError, call
from headrace.storage.s3 import Objects, unavailable

State = Literal["unnamed", "waiting", "stored"]
_MISSING = ("NoSuchKey",)
_STATE, _OWNER = "state", "message"
"""The tags. The lifecycle rules of the bucket name states."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file: its first bytes, its size, its type, the message that owns it, if any, and when it was uploaded."""

    first: bytes
    bytes: int
    type: str
    owner: str | None
    uploaded: datetime


class S3Files(Objects):
    """Objects with owners and states. Methods may raise StoreUnavailable; links and addresses need no call."""

    def look(self, name: str, count: int) -> Found | None:
        """A file with its first ``count`` bytes; ``None`` if there is none."""
        found = self._call_if_there(self._get, Key=name, Range=f"bytes=0-{count - 1}")
        if found is None:
            return None
        owner = None
        if found.get("TagCount"):
            tags = self._call_if_there(self._client.get_object_tagging, Key=name)
            if tags is None:
                return None
            owner = next((tag["Value"] for tag in tags["TagSet"] if tag["Key"] == _OWNER), None)
        size = int(found["ContentRange"].rpartition("/")[2])
        return Found(found["Body"], size, found["ContentType"], owner, found["LastModified"])

    def whole(self, name: str) -> tuple[str, bytes] | None:
        """The type and all bytes of a file; ``None`` if there is none."""
        found = self._call_if_there(self._get, Key=name)
        return None if found is None else (found["ContentType"], found["Body"])

    def set_owner(self, name: str, owner: str, state: State) -> bool:
        """Set the owner of a file, and its state. Returns whether there is such a file."""
        tags = {"TagSet": [{"Key": _STATE, "Value": state}, {"Key": _OWNER, "Value": owner}]}
        return self._call_if_there(self._client.put_object_tagging, Key=name, Tagging=tags) is not None

    def upload(self, name: str, type: str, bytes: int, seconds: int) -> tuple[str, Mapping[str, str]]:
        """An address for one PUT of so many bytes, and its headers. A file that exists is never replaced."""
        headers = {"Content-Type": type, "If-None-Match": "*", "x-amz-tagging": f"{_STATE}=unnamed"}
        # All of this is signed: S3 refuses another length, type or tag, and a second file under the name.
        parameters = {
            "Bucket": self._bucket,
            "Key": name,
            "ContentLength": bytes,
            "ContentType": type,
            "IfNoneMatch": "*",
            "Tagging": headers["x-amz-tagging"],
        }
        return str(self._client.generate_presigned_url("put_object", parameters, seconds)), headers

    def _call_if_there(self, operation: Callable[..., dict[str, Any]], **parameters: Any) -> dict[str, Any] | None:
        """The answer about a file; ``None`` if there is none."""
        try:
            return call(operation, expected=_MISSING, Bucket=self._bucket, **parameters)
        except AwsError as error:
            if error.code in _MISSING:
                return None
            raise unavailable() from error
