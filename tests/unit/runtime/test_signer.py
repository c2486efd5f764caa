"""Requests are signed as AWS's own client signs them."""

from __future__ import annotations

from hashlib import sha256

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headrace.live.push.api_gateway import signer_of_posts
from headrace.runtime.aws import Signer
from tests.fakes.clock import FixedClock

NOW = 1_763_719_258_000_000
BODY = '{"text":"grüße"}'.encode()


def botocores(head: bytes, credentials: Credentials, scheme: str, service: str = "execute-api") -> str:
    """The header Authorization that botocore gives the request ``head``, with the headers that it may sign."""
    first, *lines = head.decode().strip().split("\r\n")
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    request = AWSRequest("POST", f"{scheme}://{headers.pop('host')}{first.split()[1]}", data=BODY)
    for name in ("Content-Length", "Authorization"):
        headers.pop(name, None)
    for name, value in headers.items():
        request.headers[name] = value
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(credentials, service, "eu-central-1")
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    names = auth.signed_headers(auth.headers_to_sign(request))
    return f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={names}, Signature={signature}"


@pytest.mark.parametrize("token", ["", "a+session/token=="])
@pytest.mark.parametrize("url", ["https://api.example/dev", "http://127.0.0.1:4566/dev/"])
def test_a_signature_is_botocores(url: str, token: str) -> None:
    credentials = Credentials("AKID", "secret", token or None)
    signer = signer_of_posts(url, "eu-central-1", credentials, FixedClock(NOW))

    head = signer.head("AbC-_9=", sha256(BODY).hexdigest(), len(BODY))

    assert f"Authorization: {botocores(head, credentials, url.partition(':')[0])}\r\n" in head.decode()
    assert head.endswith(b"\r\n\r\n")
    assert (b"x-amz-security-token:a+session/token==\r\n" in head) is bool(token)


def test_further_headers_are_signed() -> None:
    credentials = Credentials("AKID", "secret", "token")
    signer = Signer("dynamodb", "https://dynamodb.example", "eu-central-1", credentials, FixedClock(NOW))
    more = (("x-amz-target", "DynamoDB_20120810.Query"), ("content-type", "application/x-amz-json-1.0"))

    head = signer.head("", sha256(BODY).hexdigest(), len(BODY), more)

    assert head.startswith(b"POST / HTTP/1.1\r\n")
    assert f"Authorization: {botocores(head, credentials, 'https', 'dynamodb')}\r\n" in head.decode()


def test_a_signature_has_the_time_and_the_credentials_of_its_request() -> None:
    clock = FixedClock(NOW)
    credentials = Credentials("AKID", "secret")
    signer = signer_of_posts("http://127.0.0.1:1", "us-east-1", credentials, clock)
    first = signer.head("c", "0" * 64, 0)

    assert signer.head("c", "0" * 64, 0) == first
    clock.advance(1)
    credentials.access_key = "RENEWED"
    later = signer.head("c", "0" * 64, 0)

    assert b"x-amz-date:20251121T100058Z" in first
    assert b"Credential=AKID/" in first
    assert b"x-amz-date:20251121T100059Z" in later
    assert b"Credential=RENEWED/" in later
    assert first[-64:] != later[-64:]
