"""The archive: rows of the tables as compressed JSON lines, in objects of a bucket.

    new/chat/2026-11-27/10/<first change>-<last change>-<id>.jsonl.gz
    chat/2026-11-27/10/<id>.jsonl.gz

The folder is the stream and the hour of the event, as its row says it. So all changes of a row are in one folder, and
the newest line with its key is the row as the table has it. Rows without a time have a folder for their table, such as
``chat/rooms``. An object is new until it is tidied.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.core import json
from headrace.core.json import encode_ascii
from headrace.runtime.aws import client
from headrace.runtime.setting_forms import Settings
from headrace.storage.s3 import Objects

NEW = "new/"
SUFFIX = ".jsonl.gz"
TIMEOUT = 10.0
"""Seconds for an answer of S3 with some megabytes."""


class ArchiveSettings(Settings):
    """Where the archive is."""

    archive_bucket: str = Field(default="", pattern=r"^[a-z0-9.-]{3,63}$", description="the name of a bucket")
    """Bucket of the archive; empty for none."""


class Line(TypedDict):
    """A change of a row, in the form of DynamoDB's incremental exports. Without ``NewImage``, the row was deleted.

    Of two lines with the same ``Keys``, the one with the larger ``SequenceNumber`` is later.
    """

    Table: str
    SequenceNumber: str
    Time: str
    Keys: Mapping[str, Any]
    NewImage: NotRequired[Mapping[str, Any]]


def folder_of(name: str) -> str:
    """The folder of an object, whether it is tidied or not."""
    return name.removeprefix(NEW).rpartition("/")[0] + "/"


def pack(lines: Iterable[str]) -> bytes:
    """The content of an object with these lines, which are JSON. The same lines give the same bytes."""
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), compresslevel=6, mtime=0)


def unpack(body: bytes) -> Iterator[Line]:
    """The lines of an object."""
    for text in gzip.decompress(body).decode().splitlines():
        yield json.decode(text)


class Newest:
    """The newest change of each row, among lines of one folder. A row takes about 200 bytes."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def add(self, lines: Iterable[Line]) -> None:
        for line in lines:
            mark, number = mark_of(line), int(line["SequenceNumber"])
            if number > self._numbers.get(mark, -1):
                self._numbers[mark] = number

    def rows(self, lines: Iterable[Line]) -> list[Line]:
        """Those of ``lines`` after which no other line has changed or deleted their row, and that did not delete it."""
        return [
            line
            for line in lines
            if "NewImage" in line and int(line["SequenceNumber"]) >= self._numbers.get(mark_of(line), 0)
        ]


def mark_of(line: Line) -> bytes:
    """A hash of the row that a line is about."""
    keys = encode_ascii([line["Table"], sorted(line["Keys"].items())])
    return blake2b(keys.encode(), digest_size=16).digest()


@functools.cache
def objects() -> Objects:
    """The objects of the stage's archive."""
    return Objects(client("s3", timeout=TIMEOUT), ArchiveSettings.read().archive_bucket)
