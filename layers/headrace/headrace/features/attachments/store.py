"""The files of messages in a bucket: uploads, checks, links, and which of them stay.

Tags say in which state a file is, and which message is its owner. The bucket deletes what is ``unnamed`` after a day,
and what is ``waiting`` with an accepted message after 35 days: longer than an event waits in a lane.
"""

from __future__ import annotations

import functools
import itertools
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from pydantic import Field

from headrace.core.errors import FieldError, InvalidEvent, StoreUnavailable
from headrace.core.keys import content_tag
from headrace.core.times import SECOND
from headrace.features.attachments.files import (
    ATTACHMENTS,
    CHECKED_BYTES,
    FIRST_BYTES,
    file_name,
    folder_of,
    is_of_type,
    names_of,
    new_upload_id,
    room_of,
)
from headrace.features.attachments.s3 import Found, S3Files
from headrace.runtime.aws import client
from headrace.runtime.breaker import Cooldown
from headrace.runtime.setting_forms import Settings
from headrace.runtime.threads import Parallel
from headrace.services.shared import impatient

LINK_SECONDS = 600
"""How long an upload's address and a link to read are good for."""
LOCKS = "lock-"
"""How the names of locks begin, as no file's name does. The bucket deletes them after a day."""
LOCK_SECONDS = 60
"""Longer than a request takes. A lock is not ended: afterwards, the file has an owner."""
NAMED_WITHIN = timedelta(hours=23)
"""After so long, no message can name an upload: the bucket removes it from its 24th hour on."""
AT_ONCE = 10
T = TypeVar("T")
R = TypeVar("R")


class AttachmentSettings(Settings):
    """Where the files of messages are."""

    attachments_bucket: str = Field(min_length=3, description="the name of the AttachmentsBucket")
    """Bucket for the files of messages."""


class Attachments:
    """The attachments of messages. ``files`` opens the bucket when the first message with attachments comes."""

    def __init__(self, files: Callable[[], S3Files]) -> None:
        self._files = files
        self._parallel = Parallel(AT_ONCE, "attachments")
        self._cooldown = Cooldown()

    def upload(
        self, user_id: str, room_id: str, type: str, bytes: int, stage_days: int
    ) -> tuple[str, str, Mapping[str, str]]:
        """The id of a new upload, its address, and the headers to send. ``stage_days`` is the stage's retention now."""
        upload_id = new_upload_id(stage_days)
        name = file_name(user_id, room_id, upload_id)
        return upload_id, *self._files().upload(name, type, bytes, LINK_SECONDS)

    def accept(self, messages: Sequence[Mapping[str, Any]], now: int) -> list[InvalidEvent | None]:
        """Why each message that is about to be accepted is refused, or ``None``: its files stay as long as it can wait.

        One is refused if a file is not uploaded, is not what the message says, or is that of another message. Raises
        StoreUnavailable.
        """
        named = [names_of(message) for message in messages]
        looked = iter(self._all(lambda files, name: files.look(name, CHECKED_BYTES), itertools.chain(*named)))
        oldest = datetime.fromtimestamp(now / SECOND, UTC) - NAMED_WITHIN
        errors: list[InvalidEvent | None] = []
        new: dict[str, str] = {}
        for message, names in zip(messages, named, strict=True):
            owner, found = owner_of(message), list(islice(looked, len(names)))
            details = [
                error
                for number, (sent, name, file) in enumerate(zip(message[ATTACHMENTS], names, found, strict=True))
                if (error := _refusal(number, sent, _fresh(file, oldest), owner, new.get(name))) is not None
            ]
            errors.append(InvalidEvent(details=details) if details else None)
            if not details:
                # What an earlier try has accepted stays as it is: its message can be stored by now.
                new |= {name: owner for name, file in zip(names, found, strict=True) if file and not file.owner}
        if not all(self._all(lambda files, name: files.lock(LOCKS + content_tag(name), LOCK_SECONDS), new)):
            raise StoreUnavailable("another message names a file at this moment")
        if not all(self._all(lambda files, pair: files.set_owner(*pair, "waiting"), new.items())):
            raise StoreUnavailable("a file has just been removed")  # tried again, its message is refused
        return errors

    def keep(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Let the files of stored messages stay. Returns whether all are there. Raises StoreUnavailable."""
        pairs = [(name, owner_of(message)) for message in messages for name in names_of(message)]
        return all(self._all(lambda files, pair: files.set_owner(*pair, "stored"), pairs))

    def delete_files(self, names: Iterable[str]) -> None:
        """Delete files. Raises StoreUnavailable."""
        self._all(lambda files, name: files.delete(name), names)

    def _all(self, call: Callable[[S3Files, T], R], arguments: Iterable[T]) -> list[R]:
        """The result of a call for each argument. After a failure, calls are refused for a moment."""
        if self._cooldown.is_active:
            raise StoreUnavailable("the bucket could not be reached a moment ago")
        try:
            files = self._files()  # here, and not in several threads at once
            return self._parallel.map(lambda argument: call(files, argument), list(arguments))
        except StoreUnavailable:
            self._cooldown.start()
            raise

    def of_user(self, user_id: str, after: str = "") -> Iterator[tuple[str, datetime]]:
        """The names of all files of a user that follow ``after``, with their times. Raises StoreUnavailable."""
        return self._files().dated_names(folder_of(user_id), after)

    def names(self, after: str) -> Iterator[tuple[str, datetime]]:
        """The names of all files that follow ``after``, with their times. Raises StoreUnavailable."""
        return (each for each in self._files().dated_names("", after) if not each[0].startswith(LOCKS))

    def exported(self, name: str) -> dict[str, Any]:
        """A file as a line of JSON has it: in base64, or as ``missing``. Raises StoreUnavailable."""
        found = self._files().whole(name)
        line = {"id": name.rpartition("/")[2], "roomId": room_of(name)}
        if found is None:
            return {**line, "missing": True}
        type_, body = found
        return {**line, "type": type_, "bytes": len(body), "base64": b64encode(body).decode()}

    def linked(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The attachments of a message with links to read them."""
        return [
            {**each, "url": self._link(name, each)}
            for name, each in zip(names_of(row), row.get(ATTACHMENTS, ()), strict=True)
        ]

    def _link(self, name: str, attachment: Mapping[str, Any]) -> str:
        # It has this type: the two were compared when the message was accepted, and no file is ever replaced.
        return self._files().link(name, attachment["name"], LINK_SECONDS, is_inline=attachment["type"] in FIRST_BYTES)


@functools.cache
def attachments(*, is_impatient: bool = False) -> Attachments:
    """The files of messages; ``is_impatient`` where a request waits for them."""

    @functools.cache
    def files() -> S3Files:
        s3 = impatient("s3") if is_impatient else client("s3")
        return S3Files(s3, AttachmentSettings.read().attachments_bucket)

    return Attachments(files)


def owner_of(message: Mapping[str, Any]) -> str:
    """What stands for a message, an event or a row, in the tag of its files. Its time can change until it is stored."""
    sender = message.get("sender") or message["timestampSk"].rpartition("#")[2]
    return content_tag(message["messageId"], sender)


def _fresh(found: Found | None, oldest: datetime) -> Found | None:
    """A file that can be named; one that is older without an owner may be removed at any time."""
    return None if found is None or (found.owner is None and found.uploaded < oldest) else found


def _refusal(
    number: int, sent: Mapping[str, Any], found: Found | None, owner: str, other: str | None
) -> FieldError | None:
    """Why a message may not name a file that it is to own, if ``other`` is a message of the same request."""
    field = f"{ATTACHMENTS}[{number}]"
    if found is None:
        allowed = "a file that you uploaded for this room in the last day"
        return FieldError(f"{field}.id", "is not uploaded", sent["id"], allowed)
    if not {found.owner, other} <= {None, owner}:
        return FieldError(f"{field}.id", "is the file of another message", sent["id"], "another upload")
    if sent["bytes"] != found.bytes:
        return FieldError(f"{field}.bytes", "is not the size of the file", sent["bytes"], str(found.bytes))
    if sent["type"] != found.type:
        return FieldError(f"{field}.type", "is not the type of the upload", sent["type"], found.type)
    if not is_of_type(found.first, sent["type"]):
        text = "is not the type of the file, by its first bytes"
        return FieldError(f"{field}.type", text, sent["type"], "its own type, or application/octet-stream")
    return None
