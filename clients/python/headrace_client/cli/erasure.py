"""The commands that erase a user, and show how far it is."""

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
    if confirm is None:
        confirm = click.prompt("This cannot be undone. Type the user to erase", err=stage.as_json)
    if confirm != user_id:
        raise click.UsageError(f"nothing is erased: {visible(confirm)} is not {visible(user_id)}")
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


def _show(stage: Stage, answer: Any) -> None:
    if stage.as_json:
        show_json(answer)
        return
    click.echo(f"{visible(answer['userId'])}: {answer['state']}, erased what came until {answer['erasedAt']}")
    for name, count in answer["counts"].items():
        click.echo(f"  {visible(name)}: {count}")
    click.echo(f"copies in backups end at {answer['backupsUntil']}")
