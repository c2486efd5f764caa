"""The commands for stacks on AWS: ``deploy``, ``backup``, ``restore``, ``copy-rows``; and ``restore-drill``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from ops.messages import errors_as_messages

_STACK = click.option("--stack", envvar="STACK", required=True, help="Name of a stack, such as headrace-prod.")
_TABLE = click.option("--table", envvar="TABLE", required=True, help="Logical id, such as ChatMessagesTable.")


@click.command()
@click.option("--config-env", default="dev", show_default=True, help="A section of samconfig.toml.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def deploy(config_env: str, options: tuple[str, ...]) -> None:
    """Build and deploy a stage under a new name of the release. OPTIONS, after --, are for `sam deploy`."""
    from ops.deploy import deploy as deploy_stage

    with errors_as_messages():
        click.echo(f"deployed {config_env}, release {deploy_stage(config_env, list(options))}")


@click.command()
@_STACK
def backup(stack: str) -> None:
    """Back up every table of a stack, and wait until the backups are complete."""
    from ops.tables import Tables

    with errors_as_messages():
        for made in Tables(stack).back_up(datetime.now(UTC)):
            click.echo(f"{made.table:<20} {made.arn}")


@click.command()
@_STACK
@_TABLE
@click.option("--at", envvar="AT", required=True, help="Time with a zone, such as 2026-11-22T09:00:00Z.")
def restore(stack: str, table: str, at: str) -> None:
    """Restore a table as of a time into a new table. The old one stays as it is."""
    from ops.tables import Tables

    with errors_as_messages():
        made = Tables(stack).restore(table, at)
    click.echo(f"{made.source} as of {made.at.isoformat()} is restored into {made.name}. Next:")
    click.echo(f"  aws dynamodb wait table-exists --table-name {made.name}   (repeat it for a large table)")
    click.echo(f"  make copy-rows STACK={stack} TABLE={table} FROM={made.name}   (only rows that are missing)")
    click.echo(f"  aws dynamodb delete-table --table-name {made.name}")


@click.command("copy-rows")
@_STACK
@_TABLE
@click.option("--from", "source", envvar="FROM", required=True, help="Name of the restored table.")
def copy_rows(stack: str, table: str, source: str) -> None:
    """Copy the rows that a table does not have from a restored table. Rows that it has stay as they are."""
    from ops.tables import Tables

    with errors_as_messages():
        copied, had = Tables(stack).copy_rows(source, table)
    click.echo(f"{copied} rows copied, {had} were there")


@click.command("restore-drill")
def restore_drill() -> None:
    """Back up, lose and restore rows in an emulated DynamoDB with the tables of the template."""
    from ops.drill import drill, emulator

    with errors_as_messages(), emulator():
        for line in drill():
            click.echo(line)


COMMANDS: tuple[click.Command, ...] = (deploy, backup, restore, copy_rows, restore_drill)
