"""The files of messages in a bucket: uploads, checks, links, and which of them stay.

A file has a tag that says who needs it. The bucket deletes what is ``unnamed`` after a day, and what is ``accepted``
after 30 days: longer than an event waits in a lane. A file without a tag is that of a stored message.
"""

from __future__ import annotations

import secrets
from base64 import b32encode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from headrace.core.errors import FieldError, InvalidEvent
from headrace.runtime.threads import Parallel
from headrace.storage.ports import Objects
from headrace.streams.chat.attachments.files import (
    ATTACHMENTS,
    BYTES,
    CHECKED_BYTES,
    file_name,
    folder_of,
    is_inline,
    is_of_type,
    names_of,
    room_of,
)

LINK_SECONDS = 600
"""How long an upload's address and a link to read are good for."""
UNNAMED, ACCEPTED = "unnamed", "accepted"
AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class Found:
    """A file: its first bytes, its size, the type that it was uploaded with, and its state (``None``: it stays)."""

    first: bytes
    bytes: int
    type: str
    state: str | None


class Files(Objects, Protocol):
    """Objects that have states. Every method may raise StoreUnavailable; links and addresses need no call."""

    def look(self, name: str, count: int) -> Found | None:
        """A file with its first ``count`` bytes; ``None`` if there is none."""

    def set_state(self, name: str, state: str | None) -> bool:
        """Set the state of a file. Returns whether there is one."""

    def upload(self, name: str, type: str, bytes: int, state: str, seconds: int) -> tuple[str, Mapping[str, str]]:
        """An address for one PUT of so many bytes, and its headers. A file that exists is never replaced."""


class Attachments:
    """The attachments of messages. ``files`` opens the bucket when the first message with attachments comes."""

    def __init__(self, files: Callable[[], Files]) -> None:
        self._files = files
        self._parallel = Parallel(AT_ONCE, "attachments")

    def upload(self, user_id: str, room_id: str, type: str, bytes: int) -> tuple[str, str, Mapping[str, str]]:
        """The id of a new upload, its address, and the headers to send."""
        upload_id = b32encode(secrets.token_bytes(16)).decode().lower().rstrip("=")
        name = file_name(user_id, room_id, upload_id)
        return upload_id, *self._files().upload(name, type, bytes, UNNAMED, LINK_SECONDS)

    def accept(self, message: Mapping[str, Any]) -> None:
        """Check the attachments of a message that is about to be accepted, and keep them as long as it can wait.

        Raises:
            InvalidEvent: one is not uploaded, or is not what the message says.
            StoreUnavailable: this cannot be checked now.
        """
        found = self._parallel.map(lambda name: self._files().look(name, CHECKED_BYTES), names_of(message))
        pairs = list(zip(message[ATTACHMENTS], found, strict=True))
        details = [_refusal(number, sent, file) for number, (sent, file) in enumerate(pairs)]
        if any(details):
            raise InvalidEvent(details=[each for each in details if each is not None])
        # The file of a message that is sent again stays as it is: its state may be that of a stored message.
        new = [name for name, (_, file) in zip(names_of(message), pairs, strict=True) if file and file.state == UNNAMED]
        self._set_states(new, ACCEPTED)

    def keep(self, message: Mapping[str, Any]) -> bool:
        """Let the files of a stored message stay. Returns whether all are there. Raises StoreUnavailable."""
        return self._set_states(names_of(message), None)

    def _set_states(self, names: Sequence[str], state: str | None) -> bool:
        return all(self._parallel.map(lambda name: self._files().set_state(name, state), names))

    def delete(self, message: Mapping[str, Any]) -> None:
        """Delete the files of a message. Raises StoreUnavailable."""
        self.delete_files(names_of(message))

    def delete_files(self, names: Sequence[str]) -> None:
        """Delete files. Raises StoreUnavailable."""
        self._parallel.map(lambda name: self._files().delete(name), names)

    def of_user(self, user_id: str, after: str = "") -> Iterator[tuple[str, datetime]]:
        """The names of all files of a user that follow ``after``, with their times. Raises StoreUnavailable."""
        return self._files().dated_names(folder_of(user_id), after)

    def exported(self, name: str) -> dict[str, Any]:
        """A file as a line of JSON has it: in base64, or as ``missing``. Raises StoreUnavailable."""
        found = self._files().look(name, BYTES)
        line = {"id": name.rpartition("/")[2], "roomId": room_of(name)}
        if found is None:
            return {**line, "missing": True}
        return {**line, "type": found.type, "bytes": found.bytes, "base64": b64encode(found.first).decode()}

    def linked(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The attachments of a message with links to read them."""
        return [
            {**each, "url": self._link(name, each)}
            for name, each in zip(names_of(row), row.get(ATTACHMENTS, ()), strict=True)
        ]

    def _link(self, name: str, attachment: Mapping[str, Any]) -> str:
        # It has this type: the two were compared when the message was accepted, and no file is ever replaced.
        return self._files().link(name, attachment["name"], LINK_SECONDS, is_inline=is_inline(attachment["type"]))


def _refusal(number: int, sent: Mapping[str, Any], found: Found | None) -> FieldError | None:
    field = f"{ATTACHMENTS}[{number}]"
    if found is None:
        allowed = "a file that you uploaded for this room in the last day"
        return FieldError(f"{field}.id", "is not uploaded", sent["id"], allowed)
    if sent["bytes"] != found.bytes:
        return FieldError(f"{field}.bytes", "is not the size of the file", sent["bytes"], str(found.bytes))
    if sent["type"] != found.type:
        return FieldError(f"{field}.type", "is not the type of the upload", sent["type"], found.type)
    if not is_of_type(found.first, sent["type"]):
        text = "is not the type of the file, by its first bytes"
        return FieldError(f"{field}.type", text, sent["type"], "its own type, or application/octet-stream")
    return None
