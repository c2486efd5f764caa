"""The files of attachments: in memory, and in the S3 of the local stage."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.runtime.aws import client
from headrace.streams.chat.attachments.s3 import S3Files
from headrace.streams.chat.attachments.store import UNNAMED, Attachments, Files, Found
from tests.contract.emulators import sdk
from tests.fakes.files import PNG, MemoryFiles
from tests.worlds.ports import free_port


class Uploading(S3Files):
    """Uploads as a client does, by the signed address."""

    def put(self, name: str, body: bytes = PNG, type: str = "image/png") -> None:
        url, headers = self.upload(name, type, len(body), UNNAMED, 600)
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


def test_a_file_has_its_first_bytes_its_size_its_type_and_its_state(files: Any) -> None:
    files.put("a/hall/1")

    assert files.look("a/hall/1", 8) == Found(PNG[:8], len(PNG), "image/png", "unnamed")
    assert files.look("a/hall/1", 10_000_000) == Found(PNG, len(PNG), "image/png", "unnamed")
    assert files.look("a/hall/2", 8) is None


def test_a_state_can_be_changed_and_taken_away_and_a_missing_file_has_none(files: Any) -> None:
    files.put("a/hall/1")

    for state in ("accepted", "unnamed", None, None):
        assert files.set_state("a/hall/1", state)
        found = files.look("a/hall/1", 8)
        assert found is not None
        assert found.state == state
    assert not files.set_state("a/hall/2", "accepted")
    assert not files.set_state("a/hall/2", None)


def test_names_follow_one_another_with_the_time_of_their_upload(files: Any) -> None:
    for name in ("b/hall/1", "a/hall/2", "a/hall/1", "a/\u00e9 b/3"):
        files.put(name)

    assert [name for name, _ in files.dated_names("")] == ["a/hall/1", "a/hall/2", "a/\u00e9 b/3", "b/hall/1"]
    assert [name for name, _ in files.dated_names("a/", "a/hall/1")] == ["a/hall/2", "a/\u00e9 b/3"]
    files.delete("a/hall/2")
    files.delete("a/hall/2")
    assert list(files.names("a/hall/")) == ["a/hall/1"]


def test_an_upload_is_of_the_signed_length_and_type_and_replaces_no_file(s3: Uploading) -> None:
    url, headers = s3.upload("a/hall/1", "image/png", len(PNG), UNNAMED, 600)

    assert sent(url, PNG, {**headers, "Content-Type": "text/html"}) == 403
    assert sent(url, PNG, {**headers, "x-amz-tagging": "state=kept"}) == 403
    assert sent(url, PNG + b"more", headers) == 403
    assert sent(url, PNG, headers) == 200
    assert sent(url, PNG, headers) == 412
    s3.set_state("a/hall/1", None)
    assert sent(url, PNG, headers) == 412
    found = s3.look("a/hall/1", 8)
    assert found is not None
    assert found.state is None


def test_browsers_show_an_image_and_save_other_files_under_their_name(s3: Uploading) -> None:
    s3.put("a/hall/1")
    for is_inline, how in ((True, "inline"), (False, "attachment")):
        with urlopen(s3.link("a/hall/1", "Käse (1).png", 600, is_inline=is_inline), timeout=10) as opened:
            assert opened.read() == PNG
            assert opened.headers["content-type"] == "image/png"
            assert opened.headers["content-disposition"] == f"{how}; filename*=UTF-8''K%C3%A4se%20%281%29.png"


def test_a_bucket_that_cannot_be_reached_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    files: Files = S3Files(client("s3", attempts=1), "headrace-attachments")
    attachments = Attachments(lambda: files)
    message = {"userId": "alice", "roomId": "hall", "attachments": [{"id": "a" * 26}]}

    for call in (attachments.accept, attachments.keep, attachments.delete):
        with pytest.raises(StoreUnavailable, match="the bucket cannot be reached right now"):
            call(message)
