"""The files of messages in S3. A tag holds the state of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.runtime.aws import AwsError, call
from headrace.storage.s3 import S3Objects, unavailable
from headrace.streams.chat.attachments.store import Found

_MISSING = ("NoSuchKey",)
_STATE = "state"
"""The tag of a file whose message is not stored yet. The bucket's lifecycle rules name its values."""


class S3Files(S3Objects):
    """The :class:`~headrace.streams.chat.attachments.store.Files` of one bucket."""

    def look(self, name: str, count: int) -> Found | None:
        found = self._call_if_there(self._get, Key=name, Range=f"bytes=0-{count - 1}")
        if found is None:
            return None
        state = None
        if found.get("TagCount"):
            tags = self._call(self._client.get_object_tagging, Key=name)["TagSet"]
            state = next((tag["Value"] for tag in tags if tag["Key"] == _STATE), None)
        size = int(found["ContentRange"].rpartition("/")[2])
        return Found(found["Body"], size, found["ContentType"], state)

    def set_state(self, name: str, state: str | None) -> bool:
        if state is None:
            return self._call_if_there(self._client.delete_object_tagging, Key=name) is not None
        tags = {"TagSet": [{"Key": _STATE, "Value": state}]}
        return self._call_if_there(self._client.put_object_tagging, Key=name, Tagging=tags) is not None

    def upload(self, name: str, type: str, bytes: int, state: str, seconds: int) -> tuple[str, Mapping[str, str]]:
        headers = {"Content-Type": type, "If-None-Match": "*", "x-amz-tagging": f"{_STATE}={state}"}
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
