"""The files of a user and of a room: what erases and exports them."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from headrace.core.collections import parts
from headrace.core.items import Item
from headrace.core.people import PART, Pages, Progress, Seen, Source, Step, Target
from headrace.features.attachments.files import ATTACHMENTS, names_of
from headrace.features.attachments.store import Attachments, attachments


def erase_files(files: Attachments, target: Target) -> Progress:
    """Delete every file that the user had uploaded by then, also those that no message names.

    A later one can be that of a message which is stored after the erasure, and stays.
    """
    until = datetime.fromisoformat(target.erased_at)
    found = (name for name, uploaded in files.of_user(target.user_id) if uploaded <= until)
    for names in parts(found, PART):
        files.delete_files(names)
        yield ATTACHMENTS, len(names)


def files_of_user(files: Attachments, user_id: str, start: Item | None) -> Pages:
    """The files that the user uploaded, also those that no message names yet."""
    for name, _ in files.of_user(user_id, "" if start is None else start["name"]):
        yield [(ATTACHMENTS, files.exported(name))], {"name": name}


def files_of_room(files: Attachments, seen: Seen, start: Item | None) -> Pages:
    """The files of the messages, a line for each. A place is that of a page, and the last file that was written."""
    page, last = (None, None) if start is None else (start["page"], start["last"])
    for rows, following in seen(page):
        names = [name for row in rows for name in names_of(row)]
        for name in names[names.index(last) + 1 if last in names else 0 :]:
            yield [(ATTACHMENTS, files.exported(name))], {"page": page, "last": name}
        page = following
        if page is not None:
            yield [], {"page": page, "last": None}


def steps_first() -> list[Step]:
    return [partial(erase_files, attachments())]


def sources(user_id: str, _skier_id: str | None) -> list[Source]:
    return [partial(files_of_user, attachments(), user_id)]


def room_sources(seen: Seen) -> list[Source]:
    return [partial(files_of_room, attachments(), seen)]
