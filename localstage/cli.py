"""The stage's command line: ``python -m localstage up | token | env | logs | rows | status | kill | reset``."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from localstage.client.make import Commands
from localstage.core.errors import NotRunning, StageError
from localstage.core.statefile import Running, StateFile

DEFAULT_SCOPES = ("chat:write", "chat:read")


_log = logging.getLogger("headrace")
"""Logs to stage.log only: the terminal shows the loggers below ``localstage``."""


class _LineFormatter(logging.Formatter):
    """``12:03:44  services   RabbitMQ 4.0.5 ready …``: time, part, sentence; the level for warnings and errors."""

    def format(self, record: logging.LogRecord) -> str:
        part = record.name.removeprefix("localstage.").split(".")[0]
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        return f"{time.strftime('%H:%M:%S', time.localtime(record.created))}  {part:<10} {level}{record.getMessage()}"


def _log_to_terminal(state_dir: Path) -> None:
    """Log short lines to stderr, and everything with tracebacks to ``logs/stage.log``."""
    logs = state_dir / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setFormatter(_LineFormatter())
    terminal.setLevel(logging.INFO)
    terminal.addFilter(logging.Filter("localstage"))
    file = logging.FileHandler(logs / "stage.log", mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    logging.getLogger("localstage").setLevel(logging.DEBUG)
    root.handlers = [terminal, file]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--state-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".local"),
    envvar="LOCALSTAGE_STATE_DIR",
    show_default=True,
    help="Folder of the stage's data, logs and built layers.",
)
@click.pass_context
def cli(context: click.Context, state_dir: Path) -> None:
    """Run template.yaml whole on this machine: API Gateway, Lambda, RabbitMQ, DynamoDB, SQS and Redis."""
    context.obj = state_dir


@cli.command()
@click.option("--template", type=click.Path(path_type=Path), default=Path("template.yaml"), show_default=True)
@click.option("--http-port", type=click.IntRange(0, 65535), help="Default: 8787, or a free one if it is taken.")
@click.option("--websocket-port", type=click.IntRange(0, 65535), help="Default: 8788, or a free one.")
@click.option("--reference-port", type=click.IntRange(0, 65535), help="Of the console. Default: 8789, or a free one.")
@click.pass_obj
def up(state_dir: Path, /, **given: Any) -> None:
    """Start the stage and keep it running until Ctrl-C."""
    import uvloop

    from localstage.stage import Options, run

    # The data of the stage, and whatever its processes write, is its user's alone.
    os.umask(0o077)
    with _errors_as_messages():
        state = StateFile(state_dir)
        state.refuse_second_stage()
        state.make_private()
        _log_to_terminal(state_dir)
        uvloop.run(run(Options(state_dir=state_dir, **given)))  # about twice the requests per second of asyncio's


@cli.command()
@click.option("--user", required=True, help="The user id: the token's subject.")
@click.option("--scope", "scopes", multiple=True, help="May be given again. Default: chat:write chat:read.")
@click.option("--ttl", type=click.IntRange(1, 86400), default=3600, show_default=True, help="Seconds.")
@click.pass_obj
def token(state_dir: Path, user: str, scopes: tuple[str, ...], ttl: int) -> None:
    """Print a token that this stage accepts."""
    with _errors_as_messages(), _ignore_closed_pipe():
        click.echo(_token(state_dir, StateFile(state_dir).read(), user, scopes, ttl))


@cli.command()
@click.option("--user", required=True, help="The user id: the token's subject.")
@click.option("--scope", "scopes", multiple=True, help="May be given again. Default: chat:write chat:read.")
@click.option("--profile", is_flag=True, help="Print a profile of the command headrace instead, for its profiles.toml.")
@click.pass_obj
def env(state_dir: Path, user: str, scopes: tuple[str, ...], profile: bool) -> None:
    """Print shell commands that set HEADRACE, WS and TOKEN to the stage's addresses and a token."""
    with _errors_as_messages(), _ignore_closed_pipe():
        running = StateFile(state_dir).read()
        if profile:
            click.echo(
                f'[local]\nhttp_url = "{running.http_url}"\nws_url = "{running.websocket_url}"\n'
                f'issuer = "{running.issuer}"\nclient_id = "{running.client_id}"\n'
                f"scopes = {list(running.scopes)}"
            )
            return
        given = _token(state_dir, running, user, scopes)
        click.echo(f"export HEADRACE={running.http_url}")
        click.echo(f"export WS={running.websocket_url}")
        click.echo(f"export TOKEN={given}")


def _token(state_dir: Path, running: Running, user: str, scopes: tuple[str, ...], ttl: int = 3600) -> str:
    from localstage.gateway.issuer import Issuer

    wanted = " ".join(scopes).replace(",", " ").split() or DEFAULT_SCOPES
    # Without a scope in its template, a stage checks none.
    if running.scopes and (unknown := sorted(set(wanted) - set(running.scopes))):
        raise StageError(f"no such scope: {', '.join(unknown)}; there are: {', '.join(running.scopes)}")
    return Issuer(state_dir, url=running.issuer).issue(user, wanted, ttl=ttl)


@cli.command()
@click.argument("function")
@click.option("--follow/--no-follow", "-f/ ", default=True, show_default=True)
@click.option("--lines", "-n", type=click.IntRange(0), default=40, show_default=True)
@click.pass_obj
def logs(state_dir: Path, function: str, follow: bool, lines: int) -> None:
    """Show the log of FUNCTION, such as ReceiveFrame or receive_frame; without a running stage, what is left of it."""
    with _errors_as_messages(), _ignore_closed_pipe():
        logs = {path.stem: path for path in sorted((state_dir / "logs").glob("*.log"))}
        wanted = function.replace("_", "").lower()
        path = next((path for name, path in logs.items() if name.lower() == wanted), None)
        if path is None:
            raise NotRunning(f"no log of {function!r} yet; there are: {', '.join(logs) or 'none, run make up first'}")
        runs = StateFile(state_dir).is_held()
        for line in _tail(path, lines, follow and runs):
            click.echo(line, nl=False)
        if not runs:
            click.echo(f"headrace: no stage runs here; this is the old {path}", err=True)


@cli.command()
@click.argument("table")
@click.argument("key")
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.pass_obj
def rows(state_dir: Path, table: str, key: str, limit: int) -> None:
    """Print the newest rows of TABLE, such as ChatMessagesTable, with the partition key KEY: one JSON object a line."""
    from localstage.rows import newest_rows, to_json

    with _errors_as_messages(), _ignore_closed_pipe():
        found = newest_rows(StateFile(state_dir).variables(), table, key, limit)
        for row in found:
            click.echo(to_json(row))
        if not found:
            click.echo(f"headrace: {table} has no row with the key {key!r}", err=True)


@cli.command()
@click.pass_obj
def status(state_dir: Path) -> None:
    """Show the services, functions and triggers of the running stage."""
    from localstage.status import print_status

    with _errors_as_messages(), _ignore_closed_pipe():
        print_status(StateFile(state_dir).read())


@cli.command()
@click.argument("service")
@click.option("--seconds", type=click.FloatRange(0, 3600), default=20, show_default=True, help="Until it starts again.")
@click.pass_obj
def kill(state_dir: Path, service: str, seconds: float) -> None:
    """Kill SERVICE (-9), such as RabbitMQ, and start it again on the same data after a while."""
    from localstage import status

    with _errors_as_messages():
        name = status.kill(StateFile(state_dir).read(), service, seconds)
        click.echo(f"{name} is killed; it starts again in {seconds:g} s")


@cli.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def reset(state_dir: Path, yes: bool) -> None:
    """Delete the stage's tables, queues, secrets and logs. Installed packages stay."""
    from localstage.services.guardian import LOCK, hold

    with _errors_as_messages():
        state = StateFile(state_dir)
        state.refuse_second_stage()
        lock = state_dir / "services" / LOCK
        if lock.exists():
            hold(lock).close()
        doomed = [state_dir / name for name in ("services", "logs", "secrets.json")]
        doomed = [path for path in doomed if path.exists()]
        if doomed and not yes:
            _ask(f"Delete {', '.join(map(str, doomed))}?")
        for path in doomed:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        click.echo("nothing to delete" if not doomed else f"deleted {', '.join(map(str, doomed))}")


def _ask(question: str) -> None:
    """Ask for confirmation; return only after a yes.

    Raises:
        StageError: the answer was no, or standard input is not available.
    """
    try:
        click.confirm(question, abort=True)
    except click.Abort:
        raise StageError("nothing was deleted; to delete without a question, add YES=1") from None


def _tail(path: Path, lines: int, follow: bool) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from file.readlines()[-lines:] if lines else []
        while follow:
            line = file.readline()
            if line:
                yield line
            elif path.stat().st_size < file.tell():
                file.seek(0)  # the log was rotated
            else:
                time.sleep(0.2)


@contextlib.contextmanager
def _ignore_closed_pipe() -> Iterator[None]:
    """Exit with 0 when standard output is a pipe that its reader closed, as in ``logs … | head``."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


@contextlib.contextmanager
def _errors_as_messages() -> Iterator[None]:
    try:
        yield
    except StageError as error:
        sys.exit(f"headrace: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except (click.exceptions.Exit, click.Abort, click.ClickException):
        raise
    except OSError as error:
        _log.error("stopped by", exc_info=True)
        sys.exit(f"headrace: {error.strerror or error}" + (f" ({error.filename})" if error.filename else ""))
    except Exception as error:  # noqa: BLE001 - the traceback is in the log, one sentence goes to the terminal
        _log.error("stopped by", exc_info=True)
        sys.exit(f"headrace: unexpected error: {type(error).__name__}: {error} (the traceback is in stage.log)")


def main() -> None:
    """Entry point of ``python -m localstage``.

    SIGPIPE stays ignored, which is Python's default: ``up`` serves sockets, and a client that closes early
    must be an error on that connection. Commands that print handle BrokenPipeError.
    """
    cli()
