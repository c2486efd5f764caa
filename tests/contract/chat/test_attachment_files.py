"""The files of attachments: in memory, and in the S3 of the local stage."""

from __future__ import annotations

import uuid
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.features.attachments.files import names_of
from headrace.features.attachments.s3 import Found, S3Files
from headrace.features.attachments.store import Attachments
from headrace.runtime.aws import client
from tests.contract.emulators import sdk
from tests.fakes.files import PNG, MemoryFiles
from tests.worlds.ports import free_port


class Uploading(S3Files):
    """Uploads as a client does, by the signed address."""

    @property
    def bucket(self) -> str:
        return self._bucket

    def put(self, name: str, body: bytes = PNG, type: str = "image/png") -> None:
        url, headers = self.upload(name, type, len(body), 600)
        assert sent(url, body, headers) == 200


def sent(url: str, body: bytes, headers: Any) -> int:
    try:
        with urlopen(Request(url, body, dict(headers), method="PUT"), timeout=10) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


@pytest.fixture
def s3(ministack: str) -> Uploading:
    bucket = f"headrace-{uuid.uuid4()}"
    sdk("s3").create_bucket(Bucket=bucket)
    return Uploading(client("s3"), bucket)


@pytest.fixture(params=["memory", "s3"])
def files(request: pytest.FixtureRequest) -> Any:
    return MemoryFiles() if request.param == "memory" else request.getfixturevalue("s3")


def test_a_file_has_its_first_bytes_its_size_and_its_type(files: Any) -> None:
    files.put("a/hall/1")

    for count in (8, 10_000_000):
        found = files.look("a/hall/1", count)
        assert found == Found(PNG[:count], len(PNG), "image/png", None, found.uploaded)
        assert abs(datetime.now(UTC) - found.uploaded) < timedelta(minutes=5)
    assert files.look("a/hall/2", 8) is None


def test_a_file_has_the_owner_that_was_set_last_and_a_missing_one_has_none(files: Any) -> None:
    files.put("a/hall/1")

    for owner, state in (("message1", "waiting"), ("message1", "stored"), ("message2", "waiting")):
        assert files.set_owner("a/hall/1", owner, state)
        assert files.look("a/hall/1", 8).owner == owner
    assert not files.set_owner("a/hall/2", "message1", "waiting")


def test_an_export_has_a_whole_file_without_asking_for_its_tags(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files.put("a/hall/1", PNG * 1000)
    files.set_owner("a/hall/1", "message1", "stored")
    if isinstance(files, S3Files):
        monkeypatch.setattr(files._client, "get_object_tagging", None)
    attachments = Attachments(lambda: files)

    line = attachments.exported("a/hall/1")

    assert line == {
        "id": "1",
        "roomId": "hall",
        "type": "image/png",
        "bytes": len(PNG) * 1000,
        "base64": b64encode(PNG * 1000).decode(),
    }
    assert attachments.exported("a/hall/2") == {"id": "2", "roomId": "hall", "missing": True}


def test_the_bucket_knows_the_state_by_a_tag(s3: Uploading) -> None:
    def state() -> str:
        tags = sdk("s3").get_object_tagging(Bucket=s3.bucket, Key="a/hall/1")["TagSet"]
        return next(str(tag["Value"]) for tag in tags if tag["Key"] == "state")

    s3.put("a/hall/1")
    found = [state()]
    for each in ("waiting", "stored"):
        s3.set_owner("a/hall/1", "message1", each)
        found.append(state())

    assert found == ["unnamed", "waiting", "stored"]


def test_names_follow_one_another_with_the_time_of_their_upload(files: Any) -> None:
    for name in ("b/hall/1", "a/hall/2", "a/hall/1", "a/\u00e9 b/3", "a/stadium~8/4"):
        files.put(name)

    assert [name for name, _ in files.dated_names("")] == [
        "a/hall/1",
        "a/hall/2",
        "a/stadium~8/4",
        "a/\u00e9 b/3",
        "b/hall/1",
    ]
    assert [name for name, _ in files.dated_names("a/", "a/hall/1")] == [
        "a/hall/2",
        "a/stadium~8/4",
        "a/\u00e9 b/3",
    ]
    files.delete("a/hall/2")
    files.delete("a/hall/2")
    assert list(files.names("a/hall/")) == ["a/hall/1"]


def test_an_upload_is_of_the_signed_length_and_type_and_replaces_no_file(s3: Uploading) -> None:
    url, headers = s3.upload("a/hall/1", "image/png", len(PNG), 600)

    assert sent(url, PNG, {**headers, "Content-Type": "text/html"}) == 403
    assert sent(url, PNG, {**headers, "x-amz-tagging": "state=kept"}) == 403
    assert sent(url, PNG + b"more", headers) == 403
    assert sent(url, PNG, headers) == 200
    assert sent(url, PNG, headers) == 412
    s3.set_owner("a/hall/1", "message1", "stored")
    assert sent(url, PNG, headers) == 412
    found = s3.look("a/hall/1", 8)
    assert found is not None
    assert found.owner == "message1"


def test_browsers_show_an_image_and_save_other_files_under_their_name(s3: Uploading) -> None:
    s3.put("a/hall/1")
    for is_inline, how in ((True, "inline"), (False, "attachment")):
        with urlopen(s3.link("a/hall/1", "Käse (1).png", 600, is_inline=is_inline), timeout=10) as opened:
            assert opened.read() == PNG
            assert opened.headers["content-type"] == "image/png"
            assert opened.headers["content-disposition"] == (
                f"{how}; filename=\"K_se (1).png\"; filename*=UTF-8''K%C3%A4se%20%281%29.png"
            )


def test_a_bucket_that_cannot_be_reached_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    files: S3Files = S3Files(client("s3", attempts=1), "headrace-attachments")
    attachments = Attachments(lambda: files)
    message = {"userId": "alice", "roomId": "hall", "messageId": "m", "sender": "s", "attachments": [{"id": "a" * 26}]}

    for call in (
        lambda messages: attachments.accept(messages, 0),
        attachments.keep,
        lambda messages: attachments.delete_files(names_of(*messages)),
    ):
        with pytest.raises(StoreUnavailable, match="the bucket c"):
            call([message])
