"""Links to objects of S3, which the layer's client signs."""

import boto3
import pytest

from headrace.runtime import aws


@pytest.mark.parametrize(
    ("region", "endpoint", "begin"),
    [
        ("eu-west-1", None, "https://files.s3.eu-west-1.amazonaws.com/exports/1.gz?"),
        ("us-east-1", None, "https://files.s3.us-east-1.amazonaws.com/exports/1.gz?"),
        ("eu-west-1", "http://127.0.0.1:4566", "http://127.0.0.1:4566/files/exports/1.gz?"),
    ],
    ids=["a Region", "the first Region", "the local stage"],
)
def test_a_link_leads_to_the_buckets_own_host_with_signature_4(
    monkeypatch: pytest.MonkeyPatch, region: str, endpoint: str | None, begin: str
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint or "")
    monkeypatch.setattr(aws, "session", boto3.Session)  # not one that remembers other variables

    link = aws.client("s3").generate_presigned_url("get_object", {"Bucket": "files", "Key": "exports/1.gz"}, 900)

    assert link.startswith(begin)
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in link
    assert "X-Amz-Expires=900" in link
