"""Files of exports in a bucket of S3."""

from __future__ import annotations

from headrace.core.errors import StoreUnavailable
from headrace.runtime.aws import AwsClient, AwsError, call


class S3Files:
    """:class:`~headrace.exports.tasks.Files` in ``bucket``. The rights of ``s3`` are those of its links."""

    def __init__(self, bucket: str, s3: AwsClient) -> None:
        self._bucket = bucket
        self._client = s3

    def put(self, name: str, body: bytes) -> None:
        try:
            call(self._client.put_object, Bucket=self._bucket, Key=name, Body=body, ContentType="application/gzip")
        except AwsError as error:
            raise _unavailable(error) from error

    def link(self, name: str, shown: str, seconds: int) -> str:
        disposition = f'attachment; filename="{shown}"'
        parameters = {"Bucket": self._bucket, "Key": name, "ResponseContentDisposition": disposition}
        return str(self._client.generate_presigned_url("get_object", parameters, seconds))

    def delete_all(self, folder: str) -> int:
        deleted, after = 0, ""
        try:
            while True:
                more = {"StartAfter": after} if after else {}
                found = call(self._client.list_objects_v2, Bucket=self._bucket, Prefix=folder, **more)
                for each in found.get("Contents", ()):
                    after = each["Key"]
                    call(self._client.delete_object, Bucket=self._bucket, Key=after)
                    deleted += 1
                if not found.get("IsTruncated"):
                    return deleted
        except AwsError as error:
            raise _unavailable(error) from error


def _unavailable(error: AwsError) -> StoreUnavailable:
    return StoreUnavailable(f"the files of exports cannot be reached: {error.code}")
