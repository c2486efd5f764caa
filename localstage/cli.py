"""The stage's command line: ``python -m localstage up | token | logs | status | reset``."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import click

from localstage.errors import NotRunning, StageError
from localstage.statefile import StateFile

STATE_DIR = Path(".local")
DEFAULT_SCOPES = ("chat:write", "chat:read")


class _LineFormatter(logging.Formatter):
    """``12:03:44  services   RabbitMQ 3.10.8 ready …``: time, part, sentence; warnings are marked."""

    def format(self, record: logging.LogRecord) -> str:
        part = record.name.removeprefix("localstage.").split(".")[0]
        mark = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        return f"{time.strftime('%H:%M:%S', time.localtime(record.created))}  {part:<10} {mark}{record.getMessage()}"


def _log_to_terminal(verbose: bool) -> None:
    """Clear lines on stderr; everything, tracebacks included, in ``.local/logs/stage.log``."""
    logs = STATE_DIR / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setFormatter(_LineFormatter())
    terminal.setLevel(logging.DEBUG if verbose else logging.INFO)
    terminal.addFilter(logging.Filter("localstage"))
    file = logging.FileHandler(logs / "stage.log", mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    logging.getLogger("localstage").setLevel(logging.DEBUG)
    root.handlers = [terminal, file]
    logging.getLogger("pika").setLevel(logging.CRITICAL)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Run template.yaml whole on this machine: API Gateway, Lambda, RabbitMQ, DynamoDB, SQS and Redis."""


@cli.command()
@click.option("--template", type=click.Path(path_type=Path), default=Path("template.yaml"), show_default=True)
@click.option("--config-env", default="local", show_default=True, help="The samconfig.toml section to take.")
@click.option("--http-port", type=click.IntRange(0, 65535), help="Default: 8787, or a free one when that is taken.")
@click.option("--websocket-port", type=click.IntRange(0, 65535), help="Default: 8788, or a free one.")
@click.option("--verbose", is_flag=True, help="Debug lines too.")
def up(template: Path, config_env: str, http_port: int | None, websocket_port: int | None, verbose: bool) -> None:
    """Start the stage and keep it up until Ctrl-C."""
    from localstage.stage import Options, run

    with _sentences_not_tracebacks():
        StateFile(STATE_DIR).refuse_second_stage()
        _log_to_terminal(verbose)
        options = Options(
            template=template,
            config_env=config_env,
            state_dir=STATE_DIR,
            http_port=http_port,
            websocket_port=websocket_port,
        )
        _event_loop_runner()(run(options))


@cli.command()
@click.option("--user", required=True, help="The user id: the token's subject.")
@click.option("--scope", "scopes", multiple=True, default=DEFAULT_SCOPES, show_default=True)
@click.option("--username", help="The name shown to others; the user id when not given.")
@click.option("--ttl", type=click.IntRange(1, 86400), default=3600, show_default=True, help="Seconds.")
def token(user: str, scopes: tuple[str, ...], username: str | None, ttl: int) -> None:
    """Print a token that this stage accepts."""
    from localstage.gateway.issuer import Issuer

    with _sentences_not_tracebacks():
        running = StateFile(STATE_DIR).read()
        issuer = Issuer(STATE_DIR, url=running.issuer)
        click.echo(issuer.issue(user, scopes, username=username, ttl=ttl))


@cli.command()
@click.argument("function")
@click.option("--follow/--no-follow", "-f/ ", default=True, show_default=True)
@click.option("--lines", "-n", type=click.IntRange(0), default=40, show_default=True)
def logs(function: str, follow: bool, lines: int) -> None:
    """Show the log of FUNCTION (its logical id, such as ReceiveFrame)."""
    with _sentences_not_tracebacks():
        folder = STATE_DIR / "logs"
        known = sorted(path.stem for path in folder.glob("*.log"))
        if function not in known:
            raise NotRunning(
                f"no log of {function!r} yet; there are: {', '.join(known) or 'none, start the stage first'}"
            )
        for line in _tail(folder / f"{function}.log", lines, follow):
            click.echo(line, nl=False)


@cli.command()
def status() -> None:
    """Show what runs, where, and how it is."""
    from localstage.status import print_status

    with _sentences_not_tracebacks():
        print_status(StateFile(STATE_DIR).read())


@cli.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(yes: bool) -> None:
    """Throw away the stage's tables, queues, secrets and logs. Installed packages stay."""
    with _sentences_not_tracebacks():
        StateFile(STATE_DIR).refuse_second_stage()
        doomed = [STATE_DIR / name for name in ("data", "logs", "secrets.json", "custom_resources.json")]
        doomed = [path for path in doomed if path.exists()]
        if doomed and not yes:
            click.confirm(f"Delete {', '.join(map(str, doomed))}?", abort=True)
        for path in doomed:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        click.echo("nothing to delete" if not doomed else f"deleted {', '.join(map(str, doomed))}")


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
def _sentences_not_tracebacks() -> Iterator[None]:
    try:
        yield
    except StageError as error:
        sys.exit(f"headrace: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        logging.getLogger("localstage").debug("stopped by", exc_info=True)
        sys.exit(f"headrace: {error.strerror or error}" + (f" ({error.filename})" if error.filename else ""))


def _event_loop_runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """uvloop's runner where it is available: about twice the requests per second."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def main() -> None:
    """Entry point of ``python -m localstage``."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    cli()
