"""The commands. The stage comes from a profile, from options, or from the variables that ``make -s env`` prints."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import get_completion_class

from .. import Rooms, SendSettings, Token, __version__, types
from . import profiles
from .attachments import attachments, files_of
from .checks import doctor, trace
from .erasure import delete_room, erase, erasure
from .export import export
from .letters import COMMANDS
from .login import login, logout
from .questions import add_newest, ads, ask, ski, with_times
from .show import Group, Said, attachment_lines, show_json, visible
from .stage import Stage, one_sentence
from .streams import stream

MESSAGE = ("timestamp", "username", "message")
COMPLETE = "_HEADRACE_COMPLETE"
ADDRESSES = ("http_url", "ws_url", "token")
TIMEOUT = SendSettings.retry_timeout
SHARDS = (2, 4, 8, 16)
"""How many partitions a room can have, as the end of its id says: 8 for stadium~8."""


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("--profile", envvar="HEADRACE_PROFILE", help="A stage in profiles.toml; default: the one named default.")
@click.option("--http-url", envvar="HEADRACE", help="HTTP API; default: the variable HEADRACE.")
@click.option("--ws-url", envvar="WS", help="WebSocket API; default: the variable WS.")
@click.option("--token", envvar="TOKEN", help="Access token; better set the variable TOKEN, which others cannot list.")
@click.option("--retry-timeout", "timeout", default=TIMEOUT, show_default=True, help="How many seconds to try again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
@click.pass_context
def cli(context: click.Context, /, profile: str | None, timeout: float, as_json: bool, **given: str | None) -> None:
    """Send events to Headrace, follow rooms and ask questions.

    With a profile, the variables HEADRACE, WS and TOKEN are not read.
    """
    with one_sentence():
        settings = SendSettings(retry_timeout=timeout)
        found = None if profile is None and given["http_url"] else profiles.find(profile)
    if found is not None:
        options = {name for name in ADDRESSES if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
        given = {name: given[name] if name in options else getattr(found, name, None) for name in ADDRESSES}
        given["token"] = given["token"] if "token" in options else None
    logging.basicConfig(level=logging.INFO, handlers=[Said()])
    context.obj = Stage(given["http_url"], given["ws_url"], given["token"], as_json, found, settings)


ERASING = (delete_room, erase, erasure)
for command in (*COMMANDS, *ERASING, export, attachments, doctor, trace, login, logout, ski, ads, stream):
    cli.add_command(command)


@cli.command()
@click.argument("room")
@click.argument("days", required=False)
@click.pass_obj
def retention(stage: Stage, room: str, days: str | None) -> None:
    """Print for how many days ROOM keeps messages, or change it. With fewer DAYS, older messages do not come back.

    Without a number of its own, a room keeps messages as long as the stage; DAYS is "stage" to return to that.
    """
    if days is not None and days != "stage" and not days.isdecimal():
        raise click.BadParameter("must be a whole number, or stage", param_hint="DAYS")
    with stage.client() as client:
        found: dict[str, str | int | None] = {"roomId": room, "retentionDays": client.get_room(room)["retentionDays"]}
        if days is not None:
            body: types.RoomChange = {"retentionDays": None if days == "stage" else int(days)}
            found |= {"before": found["retentionDays"]}
            found |= {"retentionDays": client.change_room(room, body)["retentionDays"]}
    stage.show(found)


@cli.command()
@click.argument("room")
@click.argument("message", nargs=-1)
@click.option("--reply-to", metavar="KEY", help="The key of the message that this one answers.")
@click.option(
    "--attach",
    "paths",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Send this file too; repeatable, for up to 10 files.",
)
@click.pass_obj
def send(stage: Stage, room: str, message: tuple[str, ...], reply_to: str | None, paths: tuple[Path, ...]) -> None:
    """Send MESSAGE to ROOM, until it is accepted; prints the lane and the id.

    With files and without MESSAGE, the names of the files are the text.
    """
    files = files_of(paths)
    text = " ".join(message) or ", ".join(each.name for each in files)[:1000]  # within the bytes of a text
    if not text:
        raise click.UsageError("give MESSAGE, or a file with --attach")
    event = {"roomId": room, "message": text}
    if reply_to is not None:
        event["replyTo"] = reply_to
    with stage.client() as client:
        attached = {"attachments": [client.upload(room, *each) for each in files]} if files else {}
        (sent,) = client.send([{**event, **attached}])
    stage.show({"lane": sent.lane, "messageId": sent.event["messageId"]})


@cli.command()
@click.argument("rooms", nargs=-1, required=True)
@click.option("--count", type=click.IntRange(1), help="End after so many messages.")
@click.pass_obj
def tail(stage: Stage, rooms: tuple[str, ...], count: int | None) -> None:
    """Follow ROOMS from now on, and print each message once, until Ctrl-C."""
    url = stage.given(stage.ws_url, "WS", "ws_url")
    token = stage.needed_token()
    with one_sentence(token), contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_tail(stage, url, token, rooms, count))


async def _tail(stage: Stage, url: str, token: Token, names: tuple[str, ...], count: int | None) -> None:
    async with Rooms(url, token) as rooms:
        for name in names:
            await rooms.follow(name)
        click.echo(f"following {visible(', '.join(names))}", err=True)
        shown = 0
        async for message in rooms:
            if stage.as_json:
                show_json(message)
            else:
                texts = [message["timestamp"], message["roomId"], message["username"], message["message"]]
                click.echo("  ".join(map(visible, texts)))
                for line in attachment_lines(message):
                    click.echo(line)
            shown += 1
            if shown == count:
                return


@cli.command()
@click.argument("room")
@click.argument("key")
@click.argument("value")
@click.pass_obj
def react(stage: Stage, room: str, key: str, value: str) -> None:
    """React to the message KEY in ROOM with VALUE, such as an emoji."""
    with stage.client() as client:
        stage.show(client.react_to_message(room, key, {"value": value}))


def _add_all(name: str, operation: str, columns: tuple[str, ...], said: str) -> None:
    """Add a command that prints all items of an operation about a message."""

    @click.argument("room")
    @click.argument("key")
    @click.pass_obj
    def command(stage: Stage, room: str, key: str) -> None:
        with stage.client() as client:
            stage.show_items([*client.items(getattr(client, operation), room, key, limit=200)], columns)

    cli.command(name, help=said)(command)


REPLIES = "Print the replies to the message KEY in ROOM, the oldest first; headrace --json history ROOM shows keys."
_add_all("replies", "list_replies", MESSAGE, REPLIES)
_add_all(
    "reactions",
    "list_reactions",
    ("timestamp", "userId", "value"),
    "Print who reacted to the message KEY in ROOM, and how.",
)
ONLINE = "Print who follows ROOM now, and when their clients were last heard of."
ask(cli, "online", "list_online", "room", said=ONLINE)
ask(cli, "unreact", "take_reaction_back", "room", "key", said="Take your reaction to the message KEY in ROOM back.")
ask(cli, "status", "get_status", said="Print the state of the lanes and breakers. The token needs the scope ops.")
add_newest(cli, "history", "list_messages", "room", MESSAGE, said="Print the newest messages of ROOM, the newest last.")


def _units_of(messages: list[Any], field: str) -> tuple[str, int]:
    """The value of a field with the most write units, and these: one for each KB of a message's row."""
    units = Counter[str]()
    for each in messages:
        units[each.get(field, "")] += 1 + len(json.dumps(each, ensure_ascii=False).encode()) // 1024
    del units[""]
    return (units.most_common(1) or [("", 0)])[0]


@cli.command()
@click.argument("room")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Units/s of a partition key.")
@click.pass_obj
def rate(stage: Stage, room: str, limit: int) -> None:
    """Print how full ROOM is by its newest messages, and how full its busiest user and its most answered message.

    The fullest of them is first. More shards help if that is the room.

    Reads as many messages of the last ten minutes as ROOM can store in two seconds. If they use more than half, moveTo
    is the id of a room that can store twice as much, or four times as much if ROOM is full: what waits is not seen.
    """
    base, _, end = room.rpartition("~")
    base, shards = (base, int(end)) if end in map(str, SHARDS) else (room, 1)
    now = datetime.now(UTC)
    with stage.client() as client:
        read = client.items(client.list_messages, room, limit=200, from_=(now - timedelta(minutes=10)).isoformat())
        found = [*islice(read, 2 * limit * shards)]
    times = [datetime.fromisoformat(each["timestamp"]) for each in found] or [now]
    seconds = max(1.0, (times[0] - times[-1]).total_seconds())
    parts, used = list[dict[str, Any]](), 0.0
    for field, most in (("roomId", limit * shards), ("userId", limit), ("replyTo", limit)):
        value, units = _units_of(found, field)
        part = {"key": field, "value": value, "unitsPerSecond": round(units / seconds, 1), "limit": most}
        parts += [part | {"use": f"{units / seconds / most:.0%}"}] if units else []
        used = units / seconds / limit if field == "roomId" else used
    enough = next((each for each in SHARDS if each >= used * (4 if used > 0.9 * shards else 2)), SHARDS[-1])
    parts.sort(key=lambda part: part["unitsPerSecond"] / part["limit"], reverse=True)
    answer: dict[str, Any] = {"messages": len(found), "seconds": round(seconds, 1), "parts": parts}
    if found:
        answer["newestSecondsAgo"] = max(0.0, round((now - times[0]).total_seconds(), 1))  # it may be later than now
    if used > shards / 2 and enough > shards:
        answer["moveTo"] = f"{base}~{enough}"
    stage.show(answer)


@cli.command()
@with_times
@click.option("--room", help="Only this room.")
@click.option("--user", help="Only this user.")
@click.pass_obj
def window(stage: Stage, room: str | None, user: str | None, from_: str, to: str) -> None:
    """Print the numbers of a window of time: messages, users, rooms."""
    with stage.client() as client:
        stage.show(client.get_window(from_=from_, to=to, room_id=room, user_id=user))


@cli.command(cls=click.Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what completes the commands in SHELL: eval "$(headrace completion bash)" in ~/.bashrc."""
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has these three
    click.echo(found(cli, {}, "headrace", COMPLETE).source())
