"""The command that exports a user or a room, waits, and saves the files."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import time
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import Any

import click

from .. import Headrace
from .show import Command, show_json, visible
from .stage import Stage

PAUSE = 2
"""Seconds between two looks with ``--wait``."""
PATIENCE = 60
"""Seconds without a byte after which a file is given up."""


@click.command(cls=Command)
@click.option("--user", "user_id", help="Another user, for operators; default: the token's own.")
@click.option("--skier", type=click.IntRange(1, 999_999_999_999), help="The skier that the user is; with --user.")
@click.option("--room", help="A room of members that you own, instead of a user.")
@click.option("--last", is_flag=True, help="Look at the last export, and begin none.")
@click.option("--wait", is_flag=True, help="Wait until it is done.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Wait, and save it as JSON lines.")
@click.pass_obj
def export(
    stage: Stage,
    user_id: str | None,
    skier: int | None,
    room: str | None,
    last: bool,
    wait: bool,
    output: Path | None,
) -> None:
    """Export all that is held about you, a user or a room, as JSON lines.

    A FILE that ends with .gz stays compressed. With --last, the exit code is 1 while the export runs.
    """
    if (user_id and room) or (skier and not user_id):
        raise click.UsageError("give --room, or --user with or without --skier, or none of them")
    with stage.client() as api:
        answer = _look(api, user_id, room) if last else _begin(api, user_id, skier, room)
        while (wait or output) and answer["state"] != "done":
            time.sleep(PAUSE)
            answer = _look(api, user_id, room)
    if output is not None:
        _save(answer["files"], output)
    _show(stage, answer, output)
    sys.exit(0 if answer["state"] == "done" or not last else 1)


def _begin(api: Headrace, user_id: str | None, skier: int | None, room: str | None) -> Any:
    if user_id is not None:
        return api.export_user(user_id, {} if skier is None else {"skierID": skier})
    return api.export_own_user() if room is None else api.export_room(room)


def _look(api: Headrace, user_id: str | None, room: str | None) -> Any:
    if user_id is not None:
        return api.get_export(user_id)
    return api.get_own_export() if room is None else api.get_room_export(room)


def _save(files: list[Any], output: Path) -> None:
    """Put the files one after the other: they are one file of gzip then. Nothing is left of a broken download."""
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("wb") as target:
            for file in files:
                with urllib.request.urlopen(file["link"], timeout=PATIENCE) as source:  # noqa: S310 - the stage's own
                    whole = source.read()
                if len(whole) != file["bytes"]:
                    raise click.ClickException("a file of the export came incomplete; try again with --last")
                if output.suffix == ".gz":
                    target.write(whole)
                else:
                    shutil.copyfileobj(gzip.GzipFile(fileobj=io.BytesIO(whole)), target)
        part.replace(output)
    except (OSError, HTTPException, EOFError, zlib.error) as error:
        raise click.ClickException(f"the export could not be saved: {visible(str(error))}") from None
    finally:
        part.unlink(missing_ok=True)


def _show(stage: Stage, answer: Any, output: Path | None) -> None:
    if stage.as_json:
        show_json(answer)
        return
    name = answer.get("userId") or answer["roomId"]
    click.echo(f"{visible(name)}: {answer['state']}, as of {answer['asOf']}")
    for kind, count in answer["counts"].items():
        click.echo(f"  {visible(kind)}: {count}")
    if output is not None:
        click.echo(f"saved as {visible(str(output))}")
        return
    for file in answer["files"]:
        click.echo(f"{visible(file['link'])}")
    if answer["files"]:
        click.echo(f"the links are good for 15 minutes, the files until {answer['filesUntil']}")
