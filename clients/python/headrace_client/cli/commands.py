"""The commands. Addresses and the token come from options or from the variables that ``make -s env`` prints."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import click

from .. import Rooms, Token, __version__
from .letters import COMMANDS
from .show import show_json, show_rows, visible
from .stage import Stage, given, one_sentence

MESSAGE = ("timestamp", "username", "message")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("--http-url", envvar="HEADRACE", help="HTTP API; default: the variable HEADRACE.")
@click.option("--ws-url", envvar="WS", help="WebSocket API; default: the variable WS.")
@click.option("--token", envvar="TOKEN", help="Access token; better set the variable TOKEN, which others cannot list.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
@click.pass_context
def cli(context: click.Context, /, **options: Any) -> None:
    """Send events to Headrace, follow rooms and ask questions.

    For completion in bash: eval "$(_HEADRACE_COMPLETE=bash_source headrace)"; also zsh_source and fish_source.
    """
    context.obj = Stage(**options)


for command in COMMANDS:
    cli.add_command(command)


@cli.command()
@click.argument("room")
@click.argument("message", nargs=-1, required=True)
@click.pass_obj
def send(stage: Stage, room: str, message: tuple[str, ...]) -> None:
    """Send MESSAGE to ROOM, until it is accepted; prints the lane and the id."""
    with stage.client() as client:
        (sent,) = client.send([{"roomId": room, "message": " ".join(message)}])
    stage.show({"lane": sent.lane, "messageId": sent.event["messageId"]})


@cli.command()
@click.argument("rooms", nargs=-1, required=True)
@click.option("--count", type=click.IntRange(1), help="End after so many messages.")
@click.pass_obj
def tail(stage: Stage, rooms: tuple[str, ...], count: int | None) -> None:
    """Follow ROOMS from now on, and print each message once, until Ctrl-C."""
    url = given(stage.ws_url, "WS")
    token = stage.token or given(None, "TOKEN")
    with one_sentence(), contextlib.suppress(KeyboardInterrupt):
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
            shown += 1
            if shown == count:
                return
        if rooms.connection.refusal is not None:
            raise rooms.connection.refusal


@cli.command()
@click.argument("room")
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="So many of the newest messages.")
@click.pass_obj
def history(stage: Stage, room: str, last: int) -> None:
    """Print the newest messages of ROOM, the newest last."""
    with stage.client() as client:
        found = client.items(client.list_messages, room, limit=min(last, 200))
        messages = [message for message, _ in zip(found, range(last), strict=False)][::-1]
    if stage.as_json:
        for each in messages:
            show_json(each)
    else:
        show_rows(messages, MESSAGE)


def _hours_ago(hours: int) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat()


def _with_times(command: Any) -> Any:
    from_, to = (partial(_hours_ago, hours) for hours in (1, 0))
    command = click.option("--to", default=to, show_default="now", help="Times before this one.")(command)
    said = "This time or later (ISO-8601 with a zone)."
    return click.option("--from", "from_", default=from_, show_default="an hour ago", help=said)(command)


@cli.command()
@_with_times
@click.option("--room", help="Only this room.")
@click.option("--user", help="Only this user.")
@click.pass_obj
def window(stage: Stage, room: str | None, user: str | None, from_: str, to: str) -> None:
    """Print the numbers of a window of time: messages, users, rooms."""
    with stage.client() as client:
        stage.show(client.get_window(from_=from_, to=to, room_id=room, user_id=user))


@cli.group()
def ski() -> None:
    """Ask about lift rides."""


@ski.command()
@click.argument("skier", type=int)
@click.option("--resort", "resorts", required=True, multiple=True, type=int, help="Of this resort; repeatable.")
@click.option("--season", "seasons", multiple=True, type=int, help="Only this season; repeatable.")
@click.pass_obj
def vertical(stage: Stage, skier: int, resorts: tuple[int, ...], seasons: tuple[int, ...]) -> None:
    """Print the vertical of SKIER at a resort, by season."""
    with stage.client() as client:
        stage.show(client.get_vertical(skier, resort=[*resorts], season=[*seasons]))


@ski.command()
@click.argument("resort", type=int)
@click.argument("season")
@click.argument("day", type=int)
@click.pass_obj
def skiers(stage: Stage, resort: int, season: str, day: int) -> None:
    """Print how many skiers were at RESORT on DAY of SEASON."""
    with stage.client() as client:
        stage.show(client.count_skiers(resort, season, day))


@cli.group()
def ads() -> None:
    """Ask about ad clicks."""


@ads.command()
@_with_times
@click.pass_obj
def top(stage: Stage, from_: str, to: str) -> None:
    """Print the ads with the most clicks."""
    with stage.client() as client:
        stage.show(client.list_top_ads(from_=from_, to=to))


@ads.command()
@click.argument("ad")
@_with_times
@click.pass_obj
def stats(stage: Stage, ad: str, from_: str, to: str) -> None:
    """Print the clicks of AD, by type and over time."""
    with stage.client() as client:
        stage.show(client.get_ad_stats(ad, from_=from_, to=to))


@cli.command()
@click.pass_obj
def status(stage: Stage) -> None:
    """Print the state of the lanes and breakers. The token needs the scope ops."""
    with stage.client() as client:
        stage.show(client.get_status())
