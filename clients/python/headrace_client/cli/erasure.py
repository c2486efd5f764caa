"""The commands that erase a user or delete a room, and show how far it is."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from .show import Command, show_json, visible
from .stage import Stage

PAUSE = 5
"""Seconds between two looks with ``--wait``."""


@click.command(cls=Command)
@click.argument("user_id", metavar="USER")
@click.option("--skier", type=click.IntRange(1, 999_999_999_999), help="The skier that the user is.")
@click.option("--confirm", help="The user again; default: ask.")
@click.pass_obj
def erase(stage: Stage, user_id: str, skier: int | None, confirm: str | None) -> None:
    """Erase a user for good, after you confirm who. It takes a few minutes: `headrace erasure USER` shows how far."""
    _confirm(stage, user_id, confirm, "erase", "user")
    with stage.client() as api:
        answer = api.erase_user(user_id, {} if skier is None else {"skierID": skier})
    _show(stage, answer)


@click.command(cls=Command)
@click.argument("user_id", metavar="USER")
@click.option("--wait", is_flag=True, help="Wait until it is done.")
@click.pass_obj
def erasure(stage: Stage, user_id: str, wait: bool) -> None:
    """Show how far the erasure of a user is. The exit code is 1 while it runs."""
    with stage.client() as api:
        answer = api.get_erasure(user_id)
        while wait and answer["state"] != "done":
            time.sleep(PAUSE)
            answer = api.get_erasure(user_id)
    _show(stage, answer)
    sys.exit(0 if answer["state"] == "done" else 1)


@click.command(cls=Command)
@click.argument("room_id", metavar="ROOM")
@click.option("--operator", is_flag=True, help="Delete a room of any kind, with a token for operators.")
@click.option("--confirm", help="The room again; default: ask.")
@click.pass_obj
def delete_room(stage: Stage, room_id: str, operator: bool, confirm: str | None) -> None:
    """Delete a room of members that you own for good, after you confirm which. Repeated, it shows how far it is."""
    _confirm(stage, room_id, confirm, "delete", "room")
    with stage.client() as api:
        answer = api.delete_any_room(room_id) if operator else api.delete_room(room_id)
    _show(stage, answer)


def _confirm(stage: Stage, id: str, confirm: str | None, verb: str, kind: str) -> None:
    """Check that the id was typed again. Raises UsageError."""
    if confirm is None:
        confirm = click.prompt(f"This cannot be undone. Type the {kind} to {verb}", err=stage.as_json)
    if confirm != id:
        raise click.UsageError(f"nothing is {verb}d: {visible(confirm)} is not {visible(id)}")


def _show(stage: Stage, answer: Any) -> None:
    if stage.as_json:
        show_json(answer)
        return
    name = answer.get("userId") or answer["roomId"]
    click.echo(f"{visible(name)}: {answer['state']}, erased what came until {answer['erasedAt']}")
    for name, count in answer["counts"].items():
        click.echo(f"  {visible(name)}: {count}")
    click.echo(f"copies in backups end at {answer['backupsUntil']}")
    if "freeFrom" in answer:
        click.echo(f"the id is free from {answer['freeFrom']}")
