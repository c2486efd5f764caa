"""S3 of the local stage and a page in a browser, which uploads if the CORS rules of the bucket allow its origin."""

from __future__ import annotations

from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from localstage.core.model import ACCOUNT, Bucket, StageModel
from localstage.services.aws import SECRET_KEY
from localstage.template import Live
from localstage.template.provision import provision
from tests.contract.emulators import Emulators
from tests.contract.localstage.services.objects_harness import (
    TOKEN,
    client,
    stage_of_objects,  # noqa: F401 - a fixture
)

PAGE = "http://127.0.0.1:8789"
RULE = {"AllowedMethods": ["GET", "PUT"], "AllowedOrigins": [PAGE], "AllowedHeaders": ["*"], "MaxAgeSeconds": 3600}
IMAGE = b"an image"
SIGNED = {
    "Content-Length": "8",
    "Content-Type": "image/png",
    "If-None-Match": "*",
    "x-amz-tagging": "state=pending",
}
"""What the browser must send, because the link is signed with it."""


@dataclass
class Answer:
    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def allowed_origin(self) -> str | None:
        return self.headers["Access-Control-Allow-Origin"]


@pytest.fixture(name="bucket")
async def new_bucket(stage: Emulators) -> str:
    """A new bucket with ``RULE``, made as the stage makes those of a template."""
    return await make(stage, str(uuid4()), RULE)


async def make(stage: Emulators, name: str, *rules: dict[str, Any]) -> str:
    keys = {"AWS_ACCESS_KEY_ID": ACCOUNT, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_SESSION_TOKEN": TOKEN}
    live = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, "http://127.0.0.1:1", *[stage.sqs_url] * 4, "")
    await provision(StageModel(buckets={"Files": Bucket("Files", name, rules)}), live=live, base_environment=keys)
    return name


def upload(stage: Emulators, bucket: str) -> str:
    """A link that takes ``IMAGE`` once."""
    parameters = {"ContentLength": 8, "ContentType": "image/png", "IfNoneMatch": "*", "Tagging": "state=pending"}
    s3 = client(stage.sqs_url)
    return str(s3.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "a/1.png", **parameters}, 900))


def request(method: str, url: str, body: bytes | None = None, origin: str | None = PAGE, **headers: str) -> Answer:
    """What a page of ``origin`` gets, whose browser adds the headers of a request to another server."""
    address = urlsplit(url)
    page = {"Origin": origin, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"} if origin else {}
    connection = HTTPConnection(address.netloc, timeout=10)
    try:
        connection.request(method, f"{address.path}?{address.query}", body, {**page, **headers})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def preflight(url: str, origin: str, method: str = "PUT", names: str = "content-type,if-none-match") -> Answer:
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": names}
    return request("OPTIONS", url, None, origin, **asked)


def test_a_page_uploads_once_what_the_link_was_signed_for(stage: Emulators, bucket: str) -> None:
    link = upload(stage, bucket)

    asked = preflight(link, PAGE, names="content-type,if-none-match,x-amz-tagging")
    stored = request("PUT", link, IMAGE, **SIGNED)
    again = request("PUT", link, b"an other", **SIGNED)

    assert (asked.status, asked.allowed_origin, asked.headers["Access-Control-Max-Age"]) == (200, PAGE, "3600")
    assert asked.headers["Access-Control-Allow-Methods"] == "GET, PUT"
    assert asked.headers["Access-Control-Allow-Headers"] == "content-type, if-none-match, x-amz-tagging"
    assert (stored.status, stored.allowed_origin) == (200, PAGE)
    assert (again.status, again.allowed_origin) == (412, PAGE)
    s3 = client(stage.sqs_url)
    found = s3.get_object(Bucket=bucket, Key="a/1.png")
    assert (found["Body"].read(), found["ContentType"]) == (IMAGE, "image/png")
    assert s3.get_object_tagging(Bucket=bucket, Key="a/1.png")["TagSet"] == [{"Key": "state", "Value": "pending"}]


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        (b"an image that is longer", {"Content-Length": "23"}),
        (b"short", {"Content-Length": "5"}),
        (IMAGE, {"Content-Type": "text/html"}),
        (IMAGE, {"If-None-Match": "another"}),
        (IMAGE, {"x-amz-tagging": "state=kept"}),
    ],
)
def test_an_upload_that_differs_from_its_link_is_refused(
    stage: Emulators, bucket: str, body: bytes, changed: dict[str, str]
) -> None:
    assert request("PUT", upload(stage, bucket), body, **SIGNED | changed).status == 403
    assert client(stage.sqs_url).list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_page_that_the_rules_do_not_name_can_neither_upload_nor_ask(stage: Emulators, bucket: str) -> None:
    link = upload(stage, bucket)

    for answer in (
        preflight(link, "https://evil.example"),
        preflight(link, PAGE, "DELETE"),
        preflight(link.partition("?")[0], PAGE),
        preflight(link.replace(TOKEN, "another-token"), PAGE),
        request("PUT", link, IMAGE, "https://evil.example", **SIGNED),
        request("PUT", link.partition("?")[0], IMAGE, **SIGNED),
    ):
        assert (answer.status, answer.allowed_origin) == (403, None)
    assert client(stage.sqs_url).list_objects_v2(Bucket=bucket)["KeyCount"] == 0


async def test_a_bucket_gets_the_rules_of_the_next_start_and_loses_them(stage: Emulators, bucket: str) -> None:
    link = upload(stage, bucket)

    await make(stage, bucket, {**RULE, "AllowedOrigins": ["*"]})
    anywhere = preflight(link, "https://chat.example.com")
    await make(stage, bucket)
    nowhere = preflight(link, PAGE)

    assert (anywhere.status, anywhere.allowed_origin) == (200, "*")
    assert (nowhere.status, nowhere.allowed_origin) == (403, None)
