"""The commands for dead letters and parked messages: they list, redrive, discard and return them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from .. import Headrace, SendSettings, Unavailable
from ..blocking import repeated
from .show import Command, show_json, show_rows, visible
from .stage import Stage

TRIES = 5
WIDTH = 140
"""Columns that the table of dead letters needs."""


_WITHHELD = {
    "deleted": "left out: the texts of deleted messages",
    "unchecked": "left out: texts of messages; whether they were deleted could not be looked up",
}


def _with_filters(command: Any) -> Any:
    """Add the options that select dead letters."""
    options = (
        click.option("--reason", help="Reason, such as not_json; storable: it would be stored now."),
        click.option("--stream", help="Stream of the event, such as chat; unknown: it cannot be determined."),
        click.option("--from", help="Failed first at this time or later (ISO-8601 with a zone)."),
        click.option("--to", help="Failed first before this time."),
        click.option("--id", help="Only the letter with this id."),
    )
    for option in options:
        command = option(command)
    return command


def _given(wanted: dict[str, str | None]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if value}


@click.command("dead-letters", cls=Command)
@_with_filters
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@click.option("--bodies", is_flag=True, help="Show bodies: the first 2,000 characters, or all with --id.")
@click.pass_obj
def dead_letters(stage: Stage, /, limit: int, bodies: bool, **wanted: str | None) -> None:
    """List the dead letters with their reasons. Changes nothing."""
    shown = {"bodies": "true"} if bodies else {}
    with stage.client() as api:
        answer = api.request("GET", "/dead-letters", {**_given(wanted), "limit": limit, **shown})
    if stage.as_json:
        show_json(answer)
        return
    names = {"first failed": "firstFailedAt", "tries": "attempts"}
    columns = ("id", "first failed", "reason", "stream", "events", "tries", "message")
    rows = [{column: item[names.get(column, column)] for column in columns} for item in answer["items"]]
    show_rows(rows, columns, width=WIDTH)
    for item in answer["items"]:
        if "body" in item:
            click.echo(f"\n{visible(item['id'])}:\n{visible(item['body'], lines=True)}")
        for kind, count in item.get("textsWithheld", {}).items():
            if count:
                click.echo(f"{count} {_WITHHELD[kind]}")
    click.echo(_summary(answer))


def _summary(answer: dict[str, Any]) -> str:
    reasons = ", ".join(f"{reason} {count}" for reason, count in answer["reasons"].items())
    rest = "" if answer["complete"] else "; the dead lane has more than one scan reads"
    return f"{answer['count']} of {answer['scanned']} letters{f': {reasons}' if reasons else ''}{rest}"


def _show_counted(stage: Stage, counted: dict[str, Any], dry_run: bool) -> bool:
    """Print how many letters were found; returns whether that is all to do. As JSON, only if it is."""
    ends = dry_run or not counted["count"]
    if not stage.as_json:
        click.echo(_summary(counted))
    elif ends:
        show_json(counted)
    return bool(ends)


@click.command(cls=Command)
@_with_filters
@click.option("--rate", type=click.IntRange(1, 500), default=100, show_default=True, help="Letters per second.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.pass_obj
def redrive(stage: Stage, /, rate: int, dry_run: bool, **wanted: str | None) -> None:
    """Move letters back to the retry lane. Ctrl-C stops it between two slices; it can be repeated."""
    with stage.client() as api:
        counted = api.request("POST", "/dead-letters/redrive", body={**_given(wanted), "dryRun": True})
        if _show_counted(stage, counted, dry_run):
            return
        with Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task("moved", total=counted["count"] if counted["complete"] else None)
            answer = _slices(
                lambda body: api.request("POST", "/dead-letters/redrive", body=body),
                {**_given(wanted), "rate": rate},
                lambda moved: progress.update(task, completed=moved),
            )
    if stage.as_json:
        show_json(answer)
        sys.exit(1 if answer["failed"] or not answer["done"] else 0)
    stay = f"; {answer['failed']} stay in the dead lane, because the retry lane refused them"
    click.echo(f"moved {answer['moved']}{stay if answer['failed'] else ''}")
    sys.exit(1 if answer["failed"] or not answer["done"] else 0)


def _slices(
    post: Callable[[dict[str, Any]], dict[str, Any]], body: dict[str, Any], show: Callable[[int], None]
) -> dict[str, Any]:
    """Run slices until all are done, or until ``TRIES`` slices in a row moved nothing."""
    moved, idle = 0, 0
    while True:
        answer = post(body)
        show(answer["moved"])
        idle = 0 if answer["moved"] > moved or not answer["failed"] else idle + 1
        moved = answer["moved"]
        if answer["done"] or idle == TRIES:
            return answer
        if idle:
            time.sleep(1)
        body = {"continuation": answer["continuation"]}


@click.command(cls=Command)
@_with_filters
@click.option("--confirm", type=click.IntRange(0), help="Number of letters to discard; default: ask.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.pass_obj
def discard(stage: Stage, /, confirm: int | None, dry_run: bool, **wanted: str | None) -> None:
    """Delete letters permanently, at most 2,000 at a time, after you confirm their number."""
    with stage.client() as api:
        counted = api.request("POST", "/dead-letters/discard", body={**_given(wanted), "dryRun": True})
        if _show_counted(stage, counted, dry_run):
            return
        if confirm is None:
            confirm = click.prompt("Type the number of letters to discard", type=int, err=stage.as_json)
        answer = api.request("POST", "/dead-letters/discard", body={**_given(wanted), "confirm": confirm})
    if stage.as_json:
        show_json(answer)
        sys.exit(1 if answer["failed"] else 0)
    click.echo(f"discarded {answer['discarded']}{'' if answer['complete'] else '; run it again for the rest'}")
    sys.exit(1 if answer["failed"] else 0)


@click.command(cls=Command)
@click.option(
    "--return", "lane", type=click.Choice(["main", "retry"]), help="Return all messages to this lane, one at a time."
)
@click.option("--rate", type=click.IntRange(1, 100), default=10, show_default=True, help="Messages per second.")
@click.pass_obj
def parked(stage: Stage, /, lane: str | None, rate: int) -> None:
    """Print the size of the parking queue, or return its messages to a lane."""
    with stage.client() as api:
        count = int(api.count_parked_messages()["parked"])
        if not stage.as_json:
            click.echo(f"{count} parked")
        elif lane is None or not count:
            show_json({"parked": count})
        if lane is None or not count:
            return
        returned, failure = _return_parked(api, lane, rate, count, stage.settings)
    if stage.as_json:
        show_json({"parked": count, "returned": returned})
    if failure:
        sys.exit(f"headrace: {visible(failure)}")


def _return_parked(api: Headrace, lane: str, rate: int, count: int, settings: SendSettings) -> tuple[int, str]:
    """Return ``count`` parked messages to a lane: how many were, and the reason of an early stop, else empty."""
    done = 0
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("returned", total=count)
        while done < count:
            body = {"lane": lane, "rate": rate, "limit": min(1000, count - done)}
            ask = partial(api.request, "POST", "/parked/return", body=body)
            answer = repeated(ask, settings, lambda error: isinstance(error, Unavailable))
            done += answer["returned"]
            progress.update(task, completed=done)
            if "failure" in answer:
                return done, f"{answer['failure']}; {answer['left']} are parked"
    return done, ""


COMMANDS = (dead_letters, redrive, discard, parked)
