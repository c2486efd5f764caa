"""``python -m ops``: the commands of operators, from the check before a deployment to the deletion of a stack."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click

from headrace_client.cli.checks import examine, show_findings
from headrace_client.cli.doctor_stage import CannotTell, Finding
from headrace_client.cli.show import visible
from localstage.client.errors import ClientError
from localstage.client.make import Commands
from ops.messages import errors_as_messages
from ops.target import find_stage

DAY = click.DateTime(["%Y-%m-%d"])
STREAMS = ("chat", "ski", "ads")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Operate a stage; by default the running local stage."""


@cli.command()
@click.option("--http-url", envvar=["HTTP_URL", "HEADRACE_HTTP_URL"], help="Output HttpUrl of a stack.")
@click.option("--ws-url", envvar="WS_URL", help="Output WebSocketUrl of a stack.")
@click.option("--stack", envvar="STACK", help="Name of a stack, for the checks with AWS credentials.")
def doctor(http_url: str | None, ws_url: str | None, stack: str | None) -> None:
    """Check a stage from outside; by default the running local stage. Leaves a room doctor-… without members.

    TOKEN is a token with chat:read and chat:write, FRIEND_TOKEN one of another user, OPS_TOKEN one with ops. The exit
    code is 1 if a check fails.
    """
    with errors_as_messages():
        stage = find_stage(*_addresses(http_url, ws_url, stack))
    sys.exit(1 if show_findings(itertools.chain(examine(stage), _stack_findings(stack))) else 0)


def _addresses(http_url: str | None, ws_url: str | None, stack: str | None) -> tuple[str | None, str | None]:
    """The URLs that were given; with a stack alone, those of its outputs."""
    if http_url or not stack:
        return http_url, ws_url
    from ops.doctor_aws import addresses

    try:
        return addresses(stack)
    except CannotTell as error:
        raise ClientError(f"{error}; or give HTTP_URL and WS_URL") from None


def _stack_findings(stack: str | None) -> Iterator[Finding]:
    if stack is None:
        yield Finding("stack", "unknown", "give STACK, the name of a stack, and AWS credentials")
        return
    from ops.doctor_aws import examine_stack

    yield from examine_stack(stack)


@cli.command()
@click.option("--config-env", default="dev", show_default=True, help="A section of samconfig.toml.")
def preflight(config_env: str) -> None:
    """Check an account before the first deployment of a stage to it. Only reads.

    The exit code is 1 if a check fails.
    """
    sys.exit(1 if _preflight(config_env) else 0)


@cli.command()
@click.argument("names")
@click.option("--streams", envvar="LOCALSTAGE_STREAMS", help="Folder of declared streams.  [default: streams]")
def features(names: str, streams: str | None) -> None:
    """Check the features that a stage is to have, such as edits,reactions, and the declared streams."""
    from ops.preflight import STREAMS, declared, named

    with errors_as_messages():
        named(names)
        declared(names, Path(streams or STREAMS))


def _preflight(config_env: str) -> bool:
    from ops.preflight import examine, plan

    with errors_as_messages():
        return show_findings(examine(plan(config_env)))


@cli.command()
@click.option("--config-env", default="dev", show_default=True, help="A section of samconfig.toml.")
@click.option("--preflight/--no-preflight", "checks", default=True, help="Check the account first.", show_default=True)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def deploy(config_env: str, checks: bool, options: tuple[str, ...]) -> None:
    """Build and deploy a stage under a new name of the release. OPTIONS, after --, are for `sam deploy`."""
    from ops.deploy import deploy as deploy_stage
    from ops.deploy import prepare

    with errors_as_messages():
        python = prepare(config_env)  # what is missing is said before the account is checked
    if checks and _preflight(config_env):
        sys.exit("headrace: nothing was deployed; correct what failed, or deploy with PREFLIGHT=no")
    with errors_as_messages():
        click.echo(f"deployed {config_env}, release {deploy_stage(config_env, list(options), python)}")


@cli.command("publish-console")
@click.option("--stack", envvar="STACK", default="headrace-dev", show_default=True, help="Name of the stack.")
def publish_console(stack: str) -> None:
    """Put the files of the console into a stack that has it, with the addresses of its APIs and logins."""
    from ops.console import publish

    with errors_as_messages():
        click.echo(f"published {publish(stack)}")


@cli.command()
@click.option("--stack", envvar="STACK", default="headrace-dev", show_default=True, help="Name of the stack.")
def destroy(stack: str) -> None:
    """Delete a stack with all its data, after you typed its name."""
    from ops.destroy import destroy as delete
    from ops.destroy import loses

    with errors_as_messages():
        for line in loses(stack):
            click.echo(visible(line))
        if click.prompt("Type the name of the stack to delete all of it") != stack:
            sys.exit("headrace: nothing was deleted")
        delete(stack, lambda text: click.echo(visible(text)))


@cli.command("copy-rows")
@click.option("--from", "source", envvar="FROM", required=True, help="Name of the restored table.")
@click.option("--table", envvar="TABLE", required=True, help="Name of the table that gets its rows.")
@click.option("--stack", envvar="STACK", required=True, help="Name of the stack, which knows who was erased.")
def copy_rows(source: str, table: str, stack: str) -> None:
    """Copy the rows that a table does not have from a restored table. Rows that it has stay as they are.

    Rows of people who were erased, and of rooms that were deleted, are left out.
    """
    from ops.aws import Stack
    from ops.copy_rows import copy_rows as copy
    from ops.erased import Erased

    with errors_as_messages():
        copied, had, left_out = copy(source, table, Erased.of(Stack(stack)))
    click.echo(f"{copied} rows copied, {had} were there, {left_out} of erased people or deleted rooms were left out")


@cli.command()
@click.option("--from", "since", envvar="FROM", type=DAY, required=True, help="The first day, such as 2026-11-01.")
@click.option("--until", envvar="UNTIL", type=DAY, required=True, help="The last day.")
@click.option("--stream", envvar="STREAM", help="Only rows of one stream, such as ski, or a declared one.")
@click.option("--stack", envvar="STACK", help="Name of a stack; by default the running local stage.")
@click.option("--bucket", envvar="BUCKET", help="The archive of another stage; by default its own.")
def replay(since: datetime, until: datetime, stream: str | None, stack: str | None, bucket: str | None) -> None:
    """Bring rows that a stage does not have back from an archive. Rows that it has stay as they are.

    Rows of people who were erased, of rooms that were deleted, and those that have expired are left out.
    """
    from headrace.features.declared.folder import events
    from ops.replay import replay as bring_back
    from ops.replay import variables_of

    if until < since:
        raise click.BadParameter("is before FROM", param_hint="UNTIL")
    with errors_as_messages():
        known = (*STREAMS, *events())
        if stream is not None and stream not in known:
            raise click.BadParameter(f"{stream!r} is not one of {', '.join(known)}", param_hint="STREAM")
        streams = known if stream is None else (stream,)
        days = (f"{day:%Y-%m-%d}" for day in (since, until))
        counts = bring_back(variables_of(stack or None), bucket or None, streams, *days)
    click.echo(
        f"{counts['read']} rows read: {counts['written']} written, {counts['there']} were there, "
        f"{counts['erased']} of erased people or deleted rooms and {counts['expired']} expired ones were left out"
    )


if __name__ == "__main__":
    cli()
