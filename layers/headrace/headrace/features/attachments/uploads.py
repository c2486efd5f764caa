"""The route that gives the address of an upload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.api.rates.rate_limiter import CHANGES
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.errors import NotFound
from headrace.core.fields import CanonicalTime
from headrace.features.attachments.files import BYTES, TYPES_FORM, FileType, Size
from headrace.features.attachments.store import LINK_SECONDS, Attachments
from headrace.streams.chat.rooms.requests import RoomPath

if TYPE_CHECKING:
    from headrace.streams.chat.rooms.routes import RoomServices


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


def start_upload(services: RoomServices, request: Request[RoomPath, None, UploadRequest]) -> Upload:
    """Get the address to upload a file at, for a message in this room.

    The file must be uploaded in the next ten minutes. It is removed a day later if no message names it.
    """
    uploading = services.uploading
    room_id, caller, body = request.path.room_id, request.caller, request.body
    uploading.check(caller, room_id, request.now)
    upload_id, url, headers = uploading.attachments.upload(
        caller.subject, room_id, body.type, body.bytes, uploading.stage_days
    )
    return {"id": upload_id, "upload": {"url": url, "headers": dict(headers)}, "until": until(request.now)}


def until(now: int) -> str:
    """The time until which an address that is made ``now`` is good."""
    return times.iso(now + LINK_SECONDS * times.SECOND)


def route(scopes: tuple[str, ...]) -> Route:
    """The route, for callers with one of ``scopes``."""
    body, answer = UploadRequest, Upload
    return Route(start_upload, scopes, RoomPath, None, body, answer, (NotFound,), status=201, limit=CHANGES)
