"""``python -m rehearsal``: deploy every stage to an emulated account, and delete it again."""

from __future__ import annotations

import asyncio
import sys

import click

from localstage.core.errors import StageError
from rehearsal import steps
from rehearsal.errors import RehearsalError


@click.command()
@click.option("--record", is_flag=True, help="Write the answers of dev to events/expected instead.")
def main(record: bool) -> None:
    """Deploy template.yaml to an emulated AWS account with IAM enforced, and check every function's answers."""
    try:
        asyncio.run(_record() if record else steps.rehearse_all(click.echo))
    except (RehearsalError, StageError) as error:
        sys.exit(f"rehearse: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    if not record:
        click.echo("rehearse: everything ended as expected")


async def _record() -> None:
    async with steps.rehearsal(click.echo) as stage:
        await stage.build()
        await stage.deploy("dev")
        await stage.send_events("dev", record=True)


if __name__ == "__main__":
    main()
