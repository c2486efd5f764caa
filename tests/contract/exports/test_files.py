"""Files of exports in a bucket, against the S3 of the local stage."""

from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.runtime.aws import client
from headrace.storage.s3 import Objects
from tests.contract.emulators import sdk
from tests.worlds.ports import free_port

BUCKET = "headrace-exports"


@pytest.fixture
def files(ministack: str) -> Objects:
    """Their listing has pages of two, so that few files make several."""
    sdk("s3").create_bucket(Bucket=BUCKET)
    s3 = client("s3")
    s3.meta.events.register("before-parameter-build.s3.ListObjectsV2", lambda params, **_: params.update(MaxKeys=2))
    return Objects(s3, BUCKET)


def names() -> list[str]:
    return [each["Key"] for each in sdk("s3").list_objects_v2(Bucket=BUCKET).get("Contents", ())]


def delete_all(files: Objects, folder: str) -> int:
    names = list(files.names(folder))
    for name in names:
        files.delete(name)
    return len(names)


def test_a_link_opens_a_file_under_its_shown_name_until_the_file_is_deleted(files: Objects) -> None:
    files.write("exports/a/1", b"lines")
    link = files.link("exports/a/1", "export-00001.jsonl.gz", 900)

    with urlopen(link, timeout=10) as opened:
        assert opened.read() == b"lines"
        assert opened.headers["content-type"] == "application/gzip"
        assert opened.headers["content-disposition"] == (
            "attachment; filename=\"export-00001.jsonl.gz\"; filename*=UTF-8''export-00001.jsonl.gz"
        )
    assert delete_all(files, "exports/a/") == 1
    with pytest.raises(HTTPError, match="404"):
        urlopen(link, timeout=10)


def test_all_files_of_a_folder_are_listed_in_order_and_deleted_and_no_others(files: Objects) -> None:
    wanted = [f"exports/a/{number:05}" for number in range(5)]
    for name in (*wanted[3:], "exports/ab/1", *wanted[:3]):
        files.write(name, b"")

    assert list(files.names("exports/a/")) == wanted
    assert delete_all(files, "exports/a/") == len(wanted)
    assert names() == ["exports/ab/1"]
    assert delete_all(files, "exports/a/") == 0


def test_a_bucket_that_cannot_be_reached_is_named_without_private_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    away = Objects(client("s3", timeout=0.2, attempts=1), BUCKET)

    for call in (lambda: away.write("exports/dora/1", b"secret"), lambda: delete_all(away, "exports/dora/")):
        with pytest.raises(StoreUnavailable) as error:
            call()
        assert "dora" not in str(error.value)
        assert "secret" not in str(error.value)
