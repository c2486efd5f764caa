"""S3 of the local stage: objects are kept, and a signed link opens one for a while."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.contract.emulators import Emulators
from tests.contract.localstage.services.objects_harness import (
    client,
    stage_of_objects,  # noqa: F401 - a fixture
)

BUCKET = "headrace-files"


def link(s3: Any, key: str = "exports/a/1.gz", seconds: int = 900) -> str:
    return str(s3.generate_presigned_url("get_object", {"Bucket": BUCKET, "Key": key}, seconds))


def opened(url: str, **headers: str) -> tuple[int, bytes]:
    """What a program without credentials gets at a link."""
    try:
        with urlopen(Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def test_a_signed_link_opens_its_object_alone_and_only_for_a_while(stage: Emulators) -> None:
    s3 = client(stage.sqs_url)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="exports/a/1.gz", Body=b"lines")
    s3.put_object(Bucket=BUCKET, Key="exports/b/1.gz", Body=b"of another user")
    signed = link(s3)
    short = link(s3, seconds=1)

    assert opened(signed) == (200, b"lines")
    assert opened(signed.replace("exports/a/", "exports/b/"))[0] == 403
    assert opened(signed.partition("?")[0])[0] == 403
    assert opened(link(client(stage.sqs_url, "another")))[0] == 403
    time.sleep(2)
    assert opened(short)[0] == 403


def test_an_object_outlives_its_emulator(tmp_path: Path) -> None:
    first = Emulators(tmp_path)
    first.start()
    s3 = client(first.sqs_url)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="exports/a/1.gz", Body=b"kept")
    first.stop()

    second = Emulators(tmp_path)
    second.start()
    try:
        s3 = client(second.sqs_url)
        s3.create_bucket(Bucket=BUCKET)  # as the next start of a stage does
        assert s3.get_object(Bucket=BUCKET, Key="exports/a/1.gz")["Body"].read() == b"kept"
    finally:
        second.stop()
