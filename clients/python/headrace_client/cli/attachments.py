"""The command that lists and saves the attachments of a message, and the files that are sent with one."""

from __future__ import annotations

import itertools
import re
import urllib.request
from http.client import HTTPException
from pathlib import Path

import click

from .. import types
from ..attachments import MOST, File, file_of
from .show import Command, attachment_lines, show_json, visible
from .stage import Stage

PATIENCE = 60
"""Seconds without a byte after which a file is given up."""
LONGEST = 240
"""Bytes of a saved name. File systems take 255, with the number that :func:`_new` may add."""


@click.command(cls=Command)
@click.argument("room")
@click.argument("key")
@click.option("--output", metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Save.")
@click.pass_obj
def attachments(stage: Stage, room: str, key: str, output: Path | None) -> None:
    """Print the attachments of the message KEY in ROOM with their addresses, or save them in a folder.

    The addresses are good for 10 minutes, and need no token. No file is overwritten.
    """
    with stage.client() as client:
        found = client.attachments(room, key)
    for each, line in zip(found, attachment_lines({"attachments": found}), strict=True):
        saved = None if output is None else _save(each, output)
        if stage.as_json:
            show_json(each if saved is None else {**each, "saved": str(saved)})
        else:
            click.echo(line)
            click.echo(f"  {visible(each['url'] if saved is None else f'saved as {saved}')}")


def files_of(paths: tuple[Path, ...]) -> list[File]:
    """The files to attach; all are read before the first is sent."""
    if len(paths) > MOST:
        raise click.UsageError(f"{visible(paths[MOST])} is one too many: a message has at most {MOST} attachments")
    try:
        return [file_of(path) for path in paths]
    except (OSError, ValueError) as error:
        raise click.UsageError(visible(str(error))) from None


def _save(attachment: types.LinkedAttachment, folder: Path) -> Path:
    """Save under the end of the attachment's name, without what would lead out of the folder or hide the file."""
    name = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]', "_", attachment["name"])
    name = name.encode()[-LONGEST:].decode(errors="ignore").lstrip(".") or "attachment"
    try:
        with urllib.request.urlopen(attachment["url"], timeout=PATIENCE) as source:  # noqa: S310 - the stage's own
            whole = source.read(attachment["bytes"] + 1)
        if len(whole) != attachment["bytes"]:
            raise click.ClickException(f"{visible(attachment['name'])} came incomplete; try again")
        path = _new(folder / name)
        path.write_bytes(whole)
    except (OSError, HTTPException) as error:
        raise click.ClickException(f"{visible(attachment['name'])} was not saved: {visible(str(error))}") from None
    return path


def _new(path: Path) -> Path:
    """The path, or the first of cat-2.png, cat-3.png and so on that does not exist, as a new file."""
    for number in itertools.count(1):
        tried = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            tried.touch(exist_ok=False)
        except FileExistsError:
            continue
        return tried
    raise AssertionError("the loop ends with a new file")
