"""The route that gives the address of an upload."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.api.rates.rate_limiter import CHANGES
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE, Caller
from headrace.core.errors import NotFound
from headrace.core.fields import CanonicalTime
from headrace.features.attachments.files import BYTES, TYPES_FORM, Size
from headrace.features.attachments.store import LINK_SECONDS, Attachments, attachments
from headrace.runtime.settings import RoomSettings
from headrace.services.rooms import memberships, rooms
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.stream import FileType


@dataclass(frozen=True, slots=True)
class Uploading:
    """What the route of uploads uses. ``check`` raises an error if a caller may not write in a room now."""

    check: Callable[[Caller, str, int], None]
    attachments: Attachments
    stage_days: int


class UploadRequest(Params):
    """A file to upload."""

    unknown = "is not a field of this route"

    type: FileType = Field(description=TYPES_FORM)
    bytes: Size = Field(description=f"its size, a whole number from 1 to {BYTES}")


class UploadAddress(TypedDict):
    """Where to PUT the file, with these headers and exactly the bytes that were asked for."""

    url: str
    headers: dict[str, str]


class Upload(TypedDict):
    """An upload that is good ``until`` a time; messages name it by its ``id``."""

    id: str
    upload: UploadAddress
    until: CanonicalTime


def start_upload(services: Uploading, request: Request[RoomPath, None, UploadRequest]) -> Upload:
    """Get the address to upload a file at, for a message in this room.

    The file must be uploaded in the next ten minutes. It is removed a day later if no message names it.
    """
    room_id, caller, body = request.path.room_id, request.caller, request.body
    services.check(caller, room_id, request.now)
    upload_id, url, headers = services.attachments.upload(
        caller.subject, room_id, body.type, body.bytes, services.stage_days
    )
    return {"id": upload_id, "upload": {"url": url, "headers": dict(headers)}, "until": until(request.now)}


def until(now: int) -> str:
    """The time until which an address that is made ``now`` is good."""
    return times.iso(now + LINK_SECONDS * times.SECOND)


@functools.cache
def services() -> Uploading:
    check = RoomGate(rooms(), memberships()).check
    return Uploading(check, attachments(), RoomSettings.read().chat_retention_days)


WRITE = (CHAT_WRITE, EVENTS_WRITE)
ROUTES = {
    "manage_rooms": {
        "POST /rooms/{roomId}/attachments": Route(
            start_upload,
            WRITE,
            RoomPath,
            None,
            UploadRequest,
            Upload,
            (NotFound,),
            201,
            limit=CHANGES,
            services=services,
        )
    }
}
