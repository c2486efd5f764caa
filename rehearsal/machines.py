"""RabbitMQ and Redis of the stacks: started when a stack creates its broker or cache, stopped when it deletes them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pika
from aiohttp import web

from localstage.core.errors import StageError
from localstage.core.model import ACCOUNT
from localstage.services import programs
from localstage.services.guardian import Guardian
from localstage.services.ports import Ports
from localstage.services.rabbitmq import RabbitMq
from localstage.services.redis import Redis
from localstage.services.service import HOST, Service
from rehearsal.gaps import BROKER

_PARKED_QUEUE = "parked"


class Machines:
    """Answers the questions of :mod:`rehearsal.shim` over HTTP. Data and logs are in ``folder``.

    Brokers of the stacks in ``down`` are created, but nothing listens at their endpoints.
    """

    def __init__(self, folder: Path, down: frozenset[str] = frozenset()) -> None:
        self.url = ""
        self._folder = folder
        self._down = down
        self._programs: Mapping[programs.Program, Path] = {}
        self._guardians: dict[str, Guardian] = {}
        self._services: dict[str, Service] = {}
        self._attributes: dict[str, dict[str, Any]] = {}
        self._mappings: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._runner: web.AppRunner | None = None

    @property
    def running(self) -> list[str]:
        """The ids of machines that no stack has deleted."""
        return sorted(self._attributes)

    async def start(self) -> None:
        """Find or fetch the programs, and listen.

        Raises:
            MissingProgram: RabbitMQ or Redis cannot be fetched.
        """
        self._programs = await programs.ensure_programs([programs.RABBITMQ, programs.REDIS], os.environ)
        app = web.Application()
        app.add_routes(
            [
                web.post("/start", self._start),
                web.post("/attributes", self._attributes_of),
                web.post("/map", self._map),
                web.post("/stop", self._stop),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, 0).start()
        self.url = f"http://{HOST}:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Stop every machine."""
        if self._runner is not None:
            await self._runner.cleanup()
        await asyncio.gather(*(self._end(id_) for id_ in list(self._guardians)))

    @asynccontextmanager
    async def away(self, id_: str) -> AsyncIterator[None]:
        """Stop a machine, and start it again at the end."""
        service = self._services[id_]
        await service.stop()
        try:
            yield
        finally:
            await service.start_again()

    def broker(self, id_: str) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
        """The URL of a broker, and the properties of its event source mappings by their queues."""
        return cast("RabbitMq", self._services[id_]).url, self._mappings.get(id_, {})

    def park(self, id_: str, *bodies: str) -> None:
        """Put messages into the parking queue of a broker, as it does itself after twenty deliveries. Blocks."""
        broker = cast("RabbitMq", self._services[id_])
        user = pika.PlainCredentials(broker.username, broker.password)
        parameters = pika.ConnectionParameters(HOST, broker.port, credentials=user)
        with pika.BlockingConnection(parameters) as connection, connection.channel() as channel:
            channel.confirm_delivery()
            for body in bodies:
                channel.basic_publish("", _PARKED_QUEUE, body.encode(), mandatory=True)

    async def _start(self, request: web.Request) -> web.Response:
        asked = await request.json()
        try:
            made = await self._make(asked["type"], asked["stack"], asked["properties"])
        except (StageError, ValueError, KeyError, TypeError) as error:
            return web.Response(status=400, text=f"{type(error).__name__}: {error}")
        return web.json_response(made)

    async def _make(self, type_: str, stack: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        kind = "broker" if type_ == BROKER else "cache"
        id_ = f"{stack}-{kind}"
        folder = self._folder / id_
        folder.mkdir(parents=True)
        if kind == "broker" and stack in self._down:
            port = Ports(folder / "ports.json").take("nothing")
            self._attributes[id_] = _broker_attributes(id_, f"amqp://{HOST}:{port}", f"http://{HOST}:{port}")
            return {"id": id_, "attributes": self._attributes[id_]}
        guardian = self._guardians[id_] = Guardian()
        await guardian.start()
        ports = Ports(folder / "ports.json")
        if kind == "broker":
            (user,) = properties["Users"]  # Amazon MQ accepts one user at the creation of a RabbitMQ broker
            broker = RabbitMq(
                guardian,
                ports,
                folder,
                program=self._programs[programs.RABBITMQ],
                username=user["Username"],
                password=user["Password"],
                environ=os.environ,
            )
            await self._run(id_, broker)
            self._attributes[id_] = _broker_attributes(id_, broker.url, broker.console_url)
        else:
            cache = Redis(guardian, ports, folder, program=self._programs[programs.REDIS], environ=os.environ)
            await self._run(id_, cache)
            address, _, port_text = cache.endpoint.rpartition(":")
            # The address has the password of this machine's Redis in it, as the functions' setting allows.
            self._attributes[id_] = {"Endpoint.Address": address, "Endpoint.Port": port_text}
        return {"id": id_, "attributes": self._attributes[id_]}

    async def _run(self, id_: str, service: Service) -> None:
        self._services[id_] = service
        await service.start()

    async def _attributes_of(self, request: web.Request) -> web.Response:
        return web.json_response(self._attributes[(await request.json())["id"]])

    async def _map(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self._mappings.setdefault(asked["broker"], {})[asked["properties"]["Queues"][0]] = asked["properties"]
        return web.json_response({})

    async def _stop(self, request: web.Request) -> web.Response:
        id_ = (await request.json())["id"]
        self._attributes.pop(id_, None)
        await self._end(id_)
        return web.json_response({})

    async def _end(self, id_: str) -> None:
        service, guardian = self._services.pop(id_, None), self._guardians.pop(id_, None)
        if service is not None:
            await service.stop()
        if guardian is not None:
            await guardian.stop()


def _broker_attributes(id_: str, endpoint: str, console: str) -> dict[str, Any]:
    arn = f"arn:aws:mq:us-east-1:{ACCOUNT}:broker:{id_}:b-{id_}"
    return {"Arn": arn, "AmqpEndpoints": [endpoint], "ConsoleURLs": [console]}
