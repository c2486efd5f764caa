"""The stage: starts its parts in the order of their dependencies, and stops them in reverse order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localstage.console.pages import ConsolePages
from localstage.core.errors import PortTaken, StageError, TemplateError
from localstage.core.model import StageModel
from localstage.core.process import holder_of
from localstage.core.statefile import Running, StateFile
from localstage.functions import Built, FunctionPool, PoolSettings, build
from localstage.gateway import Gateway
from localstage.gateway.issuer import Issuer
from localstage.gateway.serving import HOST, listen
from localstage.reference.pages import ReferencePages
from localstage.services import Endpoints, Services
from localstage.status import StatusServer
from localstage.template import Attributes, Live, load
from localstage.template.custom_resources import run_custom_resources
from localstage.template.provision import provision
from localstage.unclaimed import say_unclaimed
from localstage.wiring import base_environment, live_values, session_token, triggers_of, with_broker_credentials

log = logging.getLogger("localstage.stage")

HTTP_PORT = 8787
WEBSOCKET_PORT = 8788
REFERENCE_PORT = 8789
RUNTIME_REQUIREMENTS = Path(__file__).parent.parent / "requirements" / "runtime.txt"

_NOWHERE = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, "http://127.0.0.1:1", "", "", "", "", "")


@dataclass(frozen=True)
class Options:
    """Options of ``up``; a port of ``None`` means the usual one, or a free one if it is taken."""

    template: Path
    state_dir: Path
    http_port: int | None = None
    websocket_port: int | None = None
    reference_port: int | None = None


class Stage:
    """One running template. A failed ``start`` stops what it started; ``stop`` may be called at any time."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._state_dir = options.state_dir.resolve()
        self._state_file = StateFile(self._state_dir)
        self._down: list[tuple[str, Callable[[], Awaitable[object]]]] = []
        self._sockets: list[socket.socket] = []
        self.services: Services | None = None

    async def start(self) -> Running:
        """Bring everything up and write ``stage.json``.

        Raises:
            StageError: it cannot start; the message is one sentence.
        """
        began = time.monotonic()
        self._state_file.acquire()
        self._down.append(("state file", self._release))
        self.take_ports()
        issuer = Issuer(self._state_dir)
        await self._begin("issuer", issuer.start, issuer.stop)
        # The first load needs no running service, and finds mistakes before one is started.
        draft = await asyncio.to_thread(self._load, Attributes(_NOWHERE))
        build_task = asyncio.create_task(self._build(draft))
        try:
            endpoints = await self._start_services(draft)
            built = await build_task
        finally:
            build_task.cancel()

        # Functions get the address of @connections as a variable before the API is started.
        websocket = f"{HOST}:{self._sockets[1].getsockname()[1]}"
        stage = next((api.stage for api in draft.websocket_apis.values()), "")
        management_url = os.environ.get("LOCALSTAGE_MANAGEMENT_URL", f"http://{websocket}/{stage}")
        live = live_values(endpoints, issuer, management_url, draft.brokers)
        model = with_broker_credentials(await asyncio.to_thread(self._load, Attributes(live)), endpoints)
        issuer.grants.scopes = model.scopes
        environment = base_environment(endpoints)
        pool = FunctionPool(
            model.functions, PoolSettings(self._state_dir, built.layers, built.runtime, base_environment=environment)
        )
        await asyncio.gather(
            self._begin("functions", pool.start, pool.stop),
            provision(model, live=live, base_environment=environment),
        )
        await run_custom_resources(model, pool)
        triggers = triggers_of(model, pool, endpoints, environment, self._state_dir / "services")
        await self._begin("triggers", triggers.start, triggers.stop)
        gateway = Gateway(
            model,
            pool,
            http_port=self._sockets[0],
            websocket_port=self._sockets[1],
        )
        await self._begin("gateway", gateway.start, gateway.stop)
        reference = ReferencePages(self._options.template, self._state_dir, gateway.http_url, gateway.websocket_url)
        console = ConsolePages(self._options.template, self._state_dir, issuer, endpoints, gateway.http_url)
        status = StatusServer(self.services, pool, triggers, reference, console, issuer, self._sockets[2])
        await self._begin("status", status.start, status.stop)
        running = Running(
            pid=os.getpid(),
            http_url=gateway.http_url or "",
            websocket_url=gateway.websocket_url or "",
            issuer=issuer.url,
            token_url=issuer.token_url,
            status_url=status.url,
            started_at=time.time(),
            scopes=model.scopes,
            kill_url=status.kill_url,
            console_url=status.console_url,
            client_id=issuer.people_client_id,
        )
        variables = {id_: {**environment, **one.environment} for id_, one in model.functions.items()}
        self._state_file.write(running, variables)
        log.info("ready in %.1f s", time.monotonic() - began)
        return running

    async def watch(self) -> None:
        """Wait until one of the services ends unexpectedly.

        Raises:
            ServiceError: names it.
        """
        if self.services is not None:
            await self.services.watch()

    async def stop(self) -> None:
        """Stop all started parts, newest first. A part that fails to stop does not prevent the others."""
        while self._down:
            name, end = self._down.pop()
            try:
                await end()
            except (StageError, OSError, TimeoutError) as error:
                log.warning("%s did not stop cleanly: %s", name, error)

    async def _begin(
        self, name: str, start: Callable[[], Awaitable[object]], stop: Callable[[], Awaitable[object]]
    ) -> None:
        # Recorded first: a part that fails or is cancelled half-way is stopped too.
        self._down.append((name, stop))
        await start()

    async def _start_services(self, draft: StageModel) -> Endpoints:
        for several, most in ((draft.brokers, 2), (draft.http_apis, 1), (draft.websocket_apis, 1)):
            if len(several) > most:
                raise TemplateError(f"the stage runs two brokers and one API of a kind, not {', '.join(several)}")
        broker = next(iter(draft.brokers.values()), None)
        self.services = services = Services(
            self._state_dir,
            broker_username=broker.username if broker else "headrace",
            broker_password=broker.password if broker else "headrace",
            environ=dict(os.environ),  # uvloop accepts only a dict
            session_token=session_token(self._state_dir),
            brokers=len(draft.brokers) or 1,
        )
        self._down.append(("services", services.stop))
        return await services.start()

    async def _build(self, draft: StageModel) -> Built:
        layers = [layer for function in draft.functions.values() for layer in function.layers]
        return await build(layers, self._state_dir, runtime_requirements=RUNTIME_REQUIREMENTS)

    def _load(self, attributes: Attributes) -> StageModel:
        return load(self._options.template, attributes=attributes, state_dir=self._state_dir)

    def take_ports(self) -> None:
        """Take the ports now: functions get an address as a variable, long before the gateway serves it.

        Raises:
            PortTaken: a port that was asked for by number is in use.
        """
        for option, asked, usual in (
            ("--http-port", self._options.http_port, HTTP_PORT),
            ("--websocket-port", self._options.websocket_port, WEBSOCKET_PORT),
            ("--reference-port", self._options.reference_port, REFERENCE_PORT),
        ):
            try:
                self._sockets.append(listen(usual if asked is None else asked))
            except PortTaken:
                if asked is not None:
                    self.free_ports()
                    taken = f"{asked} is taken by {holder_of(asked)}"
                    raise PortTaken(f"{taken}; choose another port with {option}") from None
                self._sockets.append(free := listen(0))
                log.warning("%d is taken by %s: using %d", usual, holder_of(usual), free.getsockname()[1])

    def free_ports(self) -> None:
        """Close the ports; those that the gateway serves are closed already."""
        for each in self._sockets:
            each.close()

    async def _release(self) -> None:
        self.free_ports()
        self._state_file.release()


async def run(options: Options) -> None:
    """Keep a stage up until Ctrl-C or SIGTERM, or until one of its services ends.

    A stage that was started with SIGINT ignored, as a script's background job is, keeps ignoring it.

    Raises:
        StageError: it could not start, or lost a service.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGINT, stop.set)
    stage = Stage(options)
    starting = asyncio.create_task(stage.start())
    stopping = asyncio.create_task(stop.wait())
    watching: asyncio.Task[None] | None = None
    looking: asyncio.Task[None] | None = None
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            log.info("stopped before it was ready")
            return
        _log_addresses(starting.result(), options.state_dir)
        looking = asyncio.create_task(asyncio.to_thread(say_unclaimed, options.state_dir))
        watching = asyncio.create_task(stage.watch())
        await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
    finally:
        tasks: list[asyncio.Task[Any]] = [task for task in (starting, stopping, watching, looking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await stage.stop()
        log.info("stopped")


def _log_addresses(running: Running, state_dir: Path) -> None:
    log.info("console        %s", running.console_url)
    log.info("HTTP API       %s", running.http_url)
    log.info("WebSocket API  %s", running.websocket_url)
    log.info("API reference  %sdocs", running.status_url)
    log.info('for a shell    eval "$(make -s env)" sets HEADRACE, WS and TOKEN')
    log.info("a log          make logs FUNCTION=ReceiveFrame")
    log.info("Ctrl-C stops the stage; its data stays in %s", state_dir)
