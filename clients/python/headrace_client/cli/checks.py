"""The commands that look at a stage from outside: ``doctor``, and ``trace`` in the logs of the local stage."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from . import doctor as outside
from . import doctor_chat, doctor_stage
from .doctor_stage import Finding
from .show import Command, show_json, visible
from .stage import Stage, one_sentence
from .trace import trace as steps_of


def examine(stage: doctor_stage.Stage) -> Iterator[Finding]:
    """Run all checks that need no AWS credentials."""
    return doctor_stage.run_all({**outside.CHECKS, **doctor_chat.CHECKS}, stage)


def show_findings(findings: Iterable[Finding], *, as_json: bool = False) -> bool:
    """Print one line for each check; returns whether one failed."""
    failed = False
    for finding in findings:
        failed = failed or finding.verdict == "fail"
        if as_json:
            show_json({"check": finding.check, "verdict": finding.verdict, "detail": finding.detail})
        else:
            click.echo(visible(f"{finding.verdict:<8} {finding.check:<24} {finding.detail}"))
    return failed


@click.command(cls=Command)
@click.option("--friend-token", envvar="FRIEND_TOKEN", help="Token of another user, who is invited and accepts.")
@click.option("--ops-token", envvar="OPS_TOKEN", help="Token with the scope ops, to read the status.")
@click.pass_obj
def doctor(stage: Stage, friend_token: str | None, ops_token: str | None) -> None:
    """Check a stage from outside. Leaves a room doctor-… without members.

    Without a token, only what needs none is checked. The exit code is 1 if a check fails.
    """
    url = stage.given(stage.http_url, "HEADRACE", "http_url")
    with one_sentence():
        token = stage.token_text()
    checked = doctor_stage.Stage(url, stage.ws_url or "", token, ops_token or "", friend_token or "")
    sys.exit(1 if show_findings(examine(checked), as_json=stage.as_json) else 0)


def _logs() -> Path:
    return Path(os.environ.get("LOCALSTAGE_STATE_DIR") or ".local") / "logs"


@click.command(cls=Command)
@click.argument("id_", metavar="ID")
@click.option("--logs", type=click.Path(path_type=Path), default=_logs, show_default=".local/logs")
@click.pass_obj
def trace(stage: Stage, id_: str, logs: Path) -> None:
    """Print the way of an event through the local stage, from its logs.

    ID is the x-request-id or correlationId of an answer, or the id of an event.
    """
    steps = steps_of(logs, id_) if id_ else []
    if not steps:
        sys.exit(
            visible(f"headrace: no line in {logs} has {id_!r}; give" if id_ else "headrace: give")
            + " ID, the x-request-id of an HTTP answer, the correlationId of an answer to a frame, or the id of an "
            "event, such as a messageId"
        )
    for step in steps:
        if stage.as_json:
            show_json({"at": step.at.isoformat(), "function": step.function, "text": step.text})
        else:
            at = f"{step.at:%H:%M:%S}.{step.at.microsecond // 1000:03}"
            click.echo(visible(f"{at}  {step.function:<20} {step.text}"))
