"""Requests are signed as AWS's own client signs them."""

from __future__ import annotations

from hashlib import sha256

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from headrace.aws.sigv4 import AccessKey, Signer
from tests.fakes.clock import FixedClock

NOW = 1_763_719_258_000_000
BODY = '{"text":"grüße"}'.encode()


def botocores(head: bytes, service: str, key: AccessKey, scheme: str) -> str:
    """The header Authorization that botocore gives the request ``head``, with the headers that it may sign."""
    first, *lines = head.decode().strip().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    request = AWSRequest("POST", f"{scheme}://{headers.pop('host')}{first.split()[1]}", data=BODY)
    for name in ("Content-Length", "Authorization", "User-Agent"):
        headers.pop(name, None)
    for name, value in headers.items():
        request.headers[name] = value
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(ReadOnlyCredentials(key.access_key, key.secret_key, key.token or None), service, "eu-central-1")
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    names = auth.signed_headers(auth.headers_to_sign(request))
    return f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={names}, Signature={signature}"


@pytest.mark.parametrize("token", ["", "a+session/token=="])
@pytest.mark.parametrize(
    ("service", "url", "end", "target"),
    [
        ("dynamodb", "https://dynamodb.eu-central-1.amazonaws.com", "", "DynamoDB_20120810.BatchWriteItem"),
        ("sqs", "http://127.0.0.1:4566", "", "AmazonSQS.SendMessageBatch"),
        ("secretsmanager", "https://secrets.example:8443/", "", "secretsmanager.GetSecretValue"),
        ("execute-api", "https://api.example/dev/@connections/", "AbC-_9%3D", ""),
    ],
)
def test_a_signature_is_botocores(service: str, url: str, end: str, target: str, token: str) -> None:
    key = AccessKey("AKID", "secret", token)
    content_type = "application/x-amz-json-1.0" if target else ""
    signer = Signer(service, url, "eu-central-1", key, FixedClock(NOW), content_type)

    head = signer.head(end, sha256(BODY).hexdigest(), len(BODY), target, "User-Agent: headrace\r\n")

    assert f"Authorization: {botocores(head, service, key, url.partition(':')[0])}\r\n" in head.decode()
    assert head.endswith(b"\r\n\r\n")
    assert (b"x-amz-security-token: a+session/token==\r\n" in head) is bool(token)


def test_a_signature_has_the_time_of_its_request() -> None:
    clock = FixedClock(NOW)
    signer = Signer("sqs", "http://127.0.0.1:1", "us-east-1", AccessKey("AKID", "secret"), clock)
    first = signer.head("", "0" * 64, 0)

    assert signer.head("", "0" * 64, 0) == first
    clock.advance(1)
    later = signer.head("", "0" * 64, 0)

    assert b"x-amz-date: 20251121T100058Z" in first
    assert b"x-amz-date: 20251121T100059Z" in later
    assert first[-64:] != later[-64:]


def test_the_secret_parts_of_a_key_are_not_shown() -> None:
    assert "hidden" not in repr(AccessKey("AKID", "hidden", "hidden"))
