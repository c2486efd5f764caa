"""What a message says of its attachments, the types that they may have, and the names of their files."""

from __future__ import annotations

from base64 import b32decode, b32encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from secrets import token_bytes
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from headrace.core import keys
from headrace.core.fields import EventModel, Text, seen, seen_form, whole_number
from headrace.core.items import Item
from headrace.features.attachments import FEATURE
from headrace.streams.chat.stream import FileType, MessageField

(ATTACHMENTS,) = FEATURE.fields
"""Field and attribute of a message with attachments."""
COUNT = 10
BYTES = 10_000_000
COUNT_FORM = f"1 to {COUNT} objects with id, name, type and bytes, each of another upload"
ID_FORM = "the `id` of an upload"
NAME_FORM = f"{seen_form(keys.ID_LIMIT, '#/')}; not '.' or '..'"

FIRST_BYTES: Mapping[str, Sequence[tuple[int, bytes]]] = {
    "image/png": [(0, b"\x89PNG\r\n\x1a\n")],
    "image/jpeg": [(0, b"\xff\xd8\xff")],
    "image/gif": [(0, b"GIF8")],
    "image/webp": [(0, b"RIFF"), (8, b"WEBP")],
}
"""The types that are shown inline: what a file of each has, and where. Source: the signatures of their formats."""
CHECKED_BYTES = 12
"""Bytes at the beginning of a file that decide whether it is of such a type."""

TYPES_FORM = (
    "image/png, image/jpeg, image/gif, image/webp, application/pdf, application/zip, audio/mp4, audio/mpeg, audio/ogg, "
    "text/plain, video/mp4, video/webm, or application/octet-stream for all others"
)


FileName = Annotated[str, *seen(keys.ID_LIMIT, "#/")]
UploadId = Annotated[str, Field(pattern="^[a-z2-7]{26}$")]
Size = Annotated[int, whole_number(1, BYTES)]


class Attachment(EventModel):
    """A file that a message names: where it was uploaded, and how it is shown."""

    id: UploadId = Field(description=ID_FORM)
    name: Text = Field(description="a text")
    type: FileType = Field(description=TYPES_FORM)
    bytes: Size = Field(description=f"its size, a whole number from 1 to {BYTES}")


class SentAttachment(Attachment):
    """An attachment as a client sends it: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    name: FileName = Field(description=NAME_FORM)


def _distinct(sent: list[SentAttachment]) -> list[SentAttachment]:
    if len({each.id for each in sent}) < len(sent):
        raise PydanticCustomError("attachments", "names an upload twice")
    return sent


SentAttachments = Annotated[list[SentAttachment], Field(min_length=1, max_length=COUNT), AfterValidator(_distinct)]


def _dumped(attachments: Sequence[Attachment]) -> list[dict[str, Any]]:
    """The attachments as an event and a row have them."""
    return [each.model_dump() for each in attachments]


def _store(row: Item, attachments: Sequence[Attachment]) -> None:
    row[ATTACHMENTS] = _dumped(attachments)


FIELDS = {ATTACHMENTS: MessageField(SentAttachments, list[Attachment], COUNT_FORM, _dumped, _store)}


def is_of_type(first: bytes, type: str) -> bool:
    """Whether a file that begins with ``first`` can be of ``type``. Files that are only saved can be of any type."""
    return all(first[at : at + len(expected)] == expected for at, expected in FIRST_BYTES.get(type, ()))


def folder_of(user_id: str) -> str:
    """How the names of a user's files begin. Links show them: a hash has no characters that a link would encode."""
    return f"{sha256(user_id.encode()).hexdigest()}/"


def file_name(user_id: str, room_id: str, upload_id: str) -> str:
    """The name of a file in the bucket. So only who uploaded it can name it, and only in its room."""
    return f"{folder_of(user_id)}{room_id}/{upload_id}"


def new_upload_id(stage_days: int) -> str:
    """An id in 26 characters of base32: the days that the stage keeps messages now, and 112 random bits."""
    return b32encode(stage_days.to_bytes(2) + token_bytes(14)).decode().lower().rstrip("=")


def days_of(name: str) -> int:
    """The days that the stage kept messages when a file was uploaded; 0 is without limit."""
    return int.from_bytes(b32decode(name[-26:].upper() + "======")[:2])


def room_of(name: str) -> str:
    """The room of a file."""
    return name.partition("/")[2].rpartition("/")[0]


def within(most: int, messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, bool]]:
    """The places of messages with attachments, each with whether these are among the first ``most``."""
    for at, message in enumerate(messages):
        if named := len(message.get(ATTACHMENTS, ())):
            most -= named
            yield at, most >= 0


def names_of(row: Mapping[str, Any]) -> list[str]:
    """The names of the files of a message, its row or its event."""
    return [file_name(row["userId"], row["roomId"], each["id"]) for each in row.get(ATTACHMENTS, ())]
