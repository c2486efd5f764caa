"""Declared streams: commands that list them, send and import events, and ask about them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from .. import AsyncHeadrace, HeadraceError, SendSettings, StreamFollower
from .importing import Import
from .questions import events_of, with_times
from .show import Group, show_json, visible
from .stage import ANSWER_SECONDS, Stage, claims_of, one_sentence

LISTED = ("name", "text", "key", "user", "counts", "sums", "keepDays")
INCREASE = 200.0
"""How fast an import grows faster again after a refusal: events per second, in each second."""
named = click.argument("name", metavar="STREAM")


@click.group(cls=Group)
def stream() -> None:
    """Send and import events of declared streams, and ask about them."""


@stream.command("list")
@click.pass_obj
def list_(stage: Stage) -> None:
    """Print the declared streams: what events are read, counted and summed by. JSON has the schemas of their events."""
    with stage.client() as client:
        stage.show_items(client.list_streams()["items"], LISTED)


@stream.command()
@named
@click.argument("events", nargs=-1, required=True)
@click.pass_obj
def send(stage: Stage, name: str, events: tuple[str, ...]) -> None:
    """Send EVENTS to STREAM, each as JSON; "-" reads one a line. Prints the id and the lane of each.

    For example '{"door": "front", "badge": "alice"}'. Events that are refused are named, and the command ends with 1.
    """
    given = events_of(events, 'such as {"door": "front", "badge": "alice"}')
    with stage.client() as client:
        sent = client.stream(name).send_many(given)
    stage.show_sent(sent, ["eventId"])


@stream.command()
@named
@click.option("--key", help="Only events with this key.")
@click.option("--user", help="Only events of this user.")
@click.option("--from", "start", help="This time or later (ISO-8601 with a zone).")
@click.option("--to", "end", help="Times before this one.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="So many of the newest.")
@click.option("--follow", is_flag=True, help="Go on with new events of the key, as JSON lines, until Ctrl-C.")
@click.option("--count", type=click.IntRange(1), help="With --follow, end after so many new events.")
@click.pass_obj
def events(stage: Stage, /, name: str, limit: int, follow: bool, count: int | None, **query: str | None) -> None:
    """Print the newest events of STREAM, the newest last."""
    if follow and query["key"] is None:
        raise click.UsageError("--follow needs --key: a key is followed, not a whole stream")
    with stage.client() as client:
        found = client.stream(name).items(**query, limit=min(limit, 200))
        items = [item for _, item in zip(range(limit), found, strict=False)][::-1]
    stage.show_items(items, dict.fromkeys(["timestamp", *(each for item in items for each in item if each != "key")]))
    if follow:
        url, token = stage.given(stage.ws_url, "WS", "ws_url"), stage.needed_token()
        with one_sentence(token), contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_follow(StreamFollower(url, token, name, str(query["key"])), count))


async def _follow(follower: StreamFollower, count: int | None) -> None:
    async with follower as events:
        click.echo("following", err=True)
        shown = 0
        async for event in events:
            if event is None:
                click.echo("some events may be missing here; the pages have them", err=True)
                continue
            show_json(event)
            shown += 1
            if shown == count:
                return


def _filters(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    if wrong := [each for each in given if "=" not in each]:
        raise click.BadParameter(f"{wrong[0]!r} is not of the form FIELD=VALUE, such as method=card")
    return dict(each.split("=", 1) for each in given)


def _with_window(command: Any) -> Any:
    """Add the arguments and options of a window of a stream."""
    options: dict[str, Any] = {"metavar": "FIELD=VALUE", "multiple": True, "callback": _filters}
    said = "Only events with this value of a field that is counted; repeatable."
    command = click.option("--filter", "filters", help=said, **options)(command)
    command = click.option("--top", type=click.IntRange(1), help="So many values of a field.")(command)
    return named(with_times(command))


@stream.command()
@_with_window
@click.pass_obj
def window(stage: Stage, /, name: str, **query: Any) -> None:
    """Print the numbers of a window of time: events, users, values and sums."""
    with stage.client() as client:
        stage.show(client.get_event_window(name, **query))


@stream.command()
@_with_window
@click.option("--by", metavar="FIELD", help="The field whose values are counted.  [default: the key]")
@click.pass_obj
def top(stage: Stage, /, name: str, **query: Any) -> None:
    """Print the values of a field with the most events."""
    with stage.client() as client:
        stage.show(client.get_event_top(name, **query))


@stream.command("import")
@named
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def import_(stage: Stage, name: str, file: Path) -> None:
    """Send the lines of FILE to STREAM: JSON lines (.jsonl), or .csv with the names of the fields in the first line.

    After Ctrl-C or a crash the same command goes on, and no line becomes two events. FILE.headrace remembers how far it
    is, and FILE.refused.jsonl has the number and the error of each refused line. If there are any, it ends with 1.
    """
    if file.suffix.lower() not in (".csv", ".jsonl"):
        raise click.UsageError(f"FILE is {visible(file.name)}; allowed: a name that ends with .jsonl or .csv")
    url, token = stage.given(stage.http_url, "HEADRACE", "http_url").rstrip("/"), stage.needed_token()
    began = time.monotonic()
    fast = SendSettings(SendSettings.highest_rate, increase=INCREASE, retry_timeout=stage.settings.retry_timeout)
    with one_sentence(token), Progress(console=Console(stderr=True)) as progress:
        client = AsyncHeadrace(url, token, fast, answer_seconds=ANSWER_SECONDS)
        work = Import(file, stream=name, url=url, sender=str(claims_of(stage.token_text()).get("sub", "")))
        task = progress.add_task("lines", total=work.lines, completed=work.kept.done)
        try:
            asyncio.run(work.run(client, lambda done: progress.update(task, completed=done)))
        except (KeyboardInterrupt, HeadraceError):
            click.echo(f"stopped after {work.kept.done:,} of {work.lines:,} lines; the same command goes on", err=True)
            raise
    seconds = round(time.monotonic() - began, 1)
    stage.show({"accepted": work.kept.accepted, "refused": work.kept.refused, "seconds": seconds})
    if work.kept.refused:
        click.echo(f"why lines were refused: {visible(work.refused_in)}", err=True)
        sys.exit(1)
