"""Imports the memberships of IRC channels over the public API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from loadtest.chat.irc_membership import Change, Channel
from loadtest.client.target import Target
from localstage.client.errors import ClientError, HttpError
from localstage.client.http_api import HttpApi

THREADS = 8
IMPORTER = "replay-importer"


def import_channels(channels: Sequence[Channel], target: Target, advance: Callable[[int], object]) -> None:
    """Create the rooms and send all joins and leaves, as a producer with the scope events:write.

    The reader of this run creates the rooms, so it is a member from the start and may read their whole history.

    Raises:
        ClientError: a room of that name exists with other settings, or a change is refused.
    """
    api = target.http(IMPORTER, "events:write")
    for channel in channels:
        _create(api, channel, target.reader_id)

    def send(work: tuple[Channel, Sequence[Change]]) -> None:
        channel, changes = work
        for change in changes:
            _send(api, channel, change)
            advance(1)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(send, [(channel, changes) for channel in channels for changes in changes_by_nick(channel)]))
    api.close()


def changes_by_nick(channel: Channel) -> list[list[Change]]:
    """The changes of each nick. They are sent in order: a repeated join must not arrive before the first one."""
    found: dict[str, list[Change]] = {}
    for change in channel.changes:
        found.setdefault(change.user_id, []).append(change)
    return list(found.values())


def _create(api: HttpApi, channel: Channel, creator: str) -> None:
    body = {"kind": "members", "createdAt": channel.opened_at, "createdBy": creator}
    try:
        api.change("PUT", _path(channel.room_id), body)
    except HttpError as error:
        if error.code != "conflict":
            raise
        reason = f"the room {channel.room_id} already exists with other settings; make reset deletes all data"
        raise ClientError(reason) from None


def _send(api: HttpApi, channel: Channel, change: Change) -> None:
    path = f"{_path(channel.room_id)}/members/{quote(change.user_id, safe='')}"
    if change.kind == "JOIN":
        api.change("PUT", path, {"joinedAt": change.timestamp, "id": change.event_id})
    else:
        api.change("DELETE", path, {"leftAt": change.timestamp, "id": change.event_id})


def _path(room_id: str) -> str:
    return f"/rooms/{quote(room_id, safe='')}"
