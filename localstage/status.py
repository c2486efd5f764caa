"""``localstage status``: reads services, functions, triggers and their health from the running stage."""

from __future__ import annotations

import inspect
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import click
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.table import Table

from localstage.console.pages import ConsolePages
from localstage.core.errors import NotRunning, ServiceError
from localstage.core.statefile import Running
from localstage.gateway.issuer import Issuer
from localstage.gateway.serving import Port, TcpListener, foreign_response, json_response, message_response
from localstage.reference.pages import CLIENT, ReferencePages

HEADINGS = {"frozen": "idle", "cold_starts": "cold\nstarts", "failures": "failed"}
"""Headings that differ from the field's name. An environment is frozen while it has no event."""

LONGEST_OUTAGE = 3600.0
"""Seconds after which a killed service starts again at the latest."""


class _Statuses(Protocol):
    def status(self) -> Any: ...


class _Services(_Statuses, Protocol):
    def kill(self, name: str, seconds: float) -> str: ...


class StatusServer:
    """Answers ``GET /`` with the state of services, functions and triggers, as JSON.

    It also kills services, with POST to ``kill_url`` of ``{"service": "RabbitMQ", "seconds": 20}``, and serves the
    console and the API reference.
    """

    def __init__(
        self,
        services: _Services | None,
        functions: _Statuses,
        triggers: _Statuses,
        reference: ReferencePages,
        console: ConsolePages,
        issuer: Issuer,
        port: Port = 0,
    ) -> None:
        self._services = services
        self._reference = reference
        self._parts = {"services": services, "functions": functions, "triggers": triggers}
        self._console = console
        self._issuer = issuer
        self._listener = TcpListener(self._answer, port)

    @property
    def url(self) -> str:
        """The URL, once it is started."""
        return f"http://{self._listener.address}/"

    @property
    def console_url(self) -> str:
        """The URL of the console; the page takes the secret behind ``#``, which no request contains."""
        return f"{self.url}#{self._issuer.secret}"

    @property
    def kill_url(self) -> str:
        """The URL that kills services; it contains a secret, so only its user may know it."""
        return f"{self.url}kill?secret={self._issuer.secret}"

    async def start(self) -> None:
        """Listen on its port of the loopback interface."""
        await self._listener.start()

    async def stop(self) -> None:
        """Stop listening."""
        await self._listener.stop()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        # The client is public: a developer's page on another port imports it.
        if request.path != CLIENT and (refused := foreign_response(request)) is not None:
            return refused
        if (request.method, request.path) == ("POST", "/kill") and self._services is not None:
            return self._issuer.refusal(request) or _kill(self._services, await request.read())
        if (page := await self._console.answer(request)) is not None:
            return page
        if request.path != "/":
            return await self._reference.answer(request) or message_response(404, "Not Found")
        status = {}
        for name, part in self._parts.items():
            found = part.status() if part is not None else []
            status[name] = await found if inspect.isawaitable(found) else found
        return json_response(200, status)


class _Outage(BaseModel):
    model_config = ConfigDict(extra="forbid")

    service: Annotated[str, Field(strict=True, min_length=1)]
    seconds: Annotated[float, Field(strict=True, ge=0, le=LONGEST_OUTAGE)]


def _kill(services: _Services, body: bytes) -> web.Response:
    try:
        outage = _Outage.model_validate_json(body)
        return message_response(200, services.kill(outage.service, outage.seconds))
    except ValidationError as error:
        first = error.errors()[0]
        return message_response(400, f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}")
    except ServiceError as error:
        return message_response(404, str(error))


def print_status(running: Running) -> None:
    """Ask the running stage and print tables.

    Raises:
        NotRunning: it does not answer.
    """
    status = _asked(running, running.status_url)
    console = Console()
    with console.capture() as printed:
        console.print(f"up for {_age(time.time() - running.started_at)}, pid {running.pid}")
        console.print(f"HTTP API       {running.http_url}")
        console.print(f"WebSocket API  {running.websocket_url}")
        console.print(f"console        {running.console_url}", soft_wrap=True)
        console.print(f"API reference  {running.status_url}docs")
        for title, rows in status.items():
            listed = [{"name": name, **row} for name, row in rows.items()] if isinstance(rows, dict) else rows
            shown = table(title, listed)
            # A terminal wraps what is wider: easier to read than a cut name.
            console.width = max(console.width, width(shown))
            console.print(shown)
    # Not by the console, which exits with 1 when the reader of a pipe has ended.
    click.echo(printed.get(), nl=False)


def width(shown: Table) -> int:
    """The columns of a terminal that ``shown`` needs."""
    return Console(width=1000).measure(shown).maximum


def table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """``rows`` as a table, without the columns that are empty in all of them."""
    made = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 1, 0, 0)
    )
    shown = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    shown = [name for name in shown if name not in ("function_id", "kind")]  # a trigger's id and source say them
    for name in shown:
        numbers = all(isinstance(row[name], int | float) and not isinstance(row[name], bool) for row in rows)
        made.add_column(HEADINGS.get(name, name), justify="right" if numbers else "left", no_wrap=True)
    for row in rows:
        made.add_row(*(_cell(row[name]) for name in shown))
    return made


def kill(running: Running, service: str, seconds: float) -> str:
    """Ask the running stage to kill a service (-9) and to start it again after ``seconds``; returns its whole name.

    Raises:
        ServiceError: it started no such service.
        NotRunning: it does not answer.
    """
    body = json.dumps({"service": service, "seconds": seconds}).encode()
    return str(_asked(running, running.kill_url, body)["message"])


def _asked(running: Running, url: str, body: bytes | None = None) -> Any:
    """The answer of the running stage at one of its own URLs."""
    try:
        with urllib.request.urlopen(url, body, timeout=5) as answer:  # noqa: S310 - our own loopback URL
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ServiceError(json.load(error)["message"]) from None
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise NotRunning(f"the stage (pid {running.pid}) does not answer: {error}") from None


def _cell(value: object) -> str:
    return {True: "yes", False: "no", None: ""}[value] if value is None or isinstance(value, bool) else str(value)


def _age(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
