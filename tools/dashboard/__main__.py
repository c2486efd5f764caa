"""``python -m tools.dashboard``: draws docs/diagrams/dashboard.svg, with ``--seconds`` after recording new numbers."""

from __future__ import annotations

import json

import click

from loadtest.client.target import Target
from localstage.client.errors import ClientError, StageNotFound
from localstage.client.running_stage import stage_file
from tools.dashboard.definition import widgets
from tools.dashboard.picture import PICTURE, svg
from tools.dashboard.recorder import record
from tools.dashboard.recording import MINUTE, Recording


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--seconds", type=click.IntRange(MINUTE, 3600), help="Record the running local stage for this long first."
)
def main(seconds: int | None) -> None:
    """Draw the CloudWatch dashboard with the numbers of a local stage. Send load while it records."""
    if seconds:
        try:
            _record(seconds).write()
        except ClientError as error:
            raise click.ClickException(str(error)) from None
    PICTURE.write_text(svg(widgets(), Recording.read()), encoding="utf-8")


def _record(seconds: int) -> Recording:
    target = Target.running()
    if target is None:
        raise StageNotFound("no stage runs here; start one with: make up")
    state = stage_file()
    status_url = json.loads(state.read_text(encoding="utf-8"))["status_url"]
    return record(state.parent / "logs", target.http("dashboard", "ops"), status_url, seconds)


if __name__ == "__main__":
    main()
