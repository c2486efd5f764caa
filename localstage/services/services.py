"""All services of a stage: starts those without a URL, watches and stops them."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from localstage.core.errors import ServiceError
from localstage.core.model import BrokerUrls
from localstage.services import external_services, install, programs
from localstage.services.aws import Aws
from localstage.services.dynamodb import DynamoDb
from localstage.services.endpoints import Endpoints, ServiceStatus
from localstage.services.guardian import LOCK, Guardian
from localstage.services.ports import Ports
from localstage.services.rabbitmq import NODES, Cluster, RabbitMq, start_epmd
from localstage.services.redis import Redis
from localstage.services.service import Service

log = logging.getLogger("localstage.services")

_ROOM_NEEDED = 200_000_000
"""Bytes that must be free on the disk before anything is started."""

BROKER_NODES = "LOCALSTAGE_BROKER_NODES"
"""How many nodes RabbitMQ has: 1 or 3."""

WRITES_PER_KEY = "LOCALSTAGE_WRITES_PER_KEY"
"""Write units a second that one partition key of DynamoDB takes; 0 for no limit. On AWS, it is 1,000."""
_BROKER_FOLDERS = ("rabbitmq", "rabbitmq-second")

Programs = asyncio.Task[Mapping[programs.Program, Path]]


class Services:
    """The services of one stage, with so many ``brokers`` (1 or 2).

    Their data is in ``state_dir/services``, installed packages are in ``state_dir``. The emulators answer only clients
    with ``session_token``; without one, all programs of this machine.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        broker_username: str,
        broker_password: str,
        environ: Mapping[str, str],
        session_token: str = "",
        brokers: int = 1,
    ) -> None:
        self._state = state_dir.resolve()
        self._folder = self._state / "services"
        self._username = broker_username
        self._password = broker_password
        self._environ = environ
        self._brokers = brokers
        self._session_token = session_token
        self._guardian = Guardian(self._folder / LOCK)
        self._ports = Ports(self._folder / "ports.json")
        self._started: list[Service] = []
        self._cluster: Cluster | None = None
        self._named: list[tuple[ServiceStatus, external_services.Check]] = []
        self._stopping = False
        self._outages: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> Endpoints:
        """Start every service that is not named by URL, in parallel, and return when all answer.

        Raises:
            MissingProgram: a program is missing and cannot be fetched.
            ServiceError: a service did not start, an external one does not answer, or the disk is full.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(self._folder).free < _ROOM_NEEDED:
            raise ServiceError(
                f"The disk of {self._state} is full: the services need at least {_ROOM_NEEDED // 1_000_000} MB; "
                "make room and start again."
            )
        try:
            await self._guardian.start()
            async with asyncio.TaskGroup() as group:
                found = group.create_task(self._programs())
                broker = group.create_task(self._broker(found))
                cache = group.create_task(self._cache(found))
                dynamodb = group.create_task(self._dynamodb())
                aws = group.create_task(self._aws())
        except BaseExceptionGroup as failures:
            await self.stop()
            raise _first(failures) from None
        except BaseException:
            await self.stop()
            raise
        (access, *further), (sqs, s3, secrets_manager) = broker.result(), aws.result()
        return Endpoints(
            amqp_url=access.url,
            dynamodb_url=dynamodb.result(),
            sqs_url=sqs,
            s3_url=s3,
            secrets_manager_url=secrets_manager,
            broker_username=access.username,
            broker_password=access.password,
            broker_console_url=access.console_url,
            cache_endpoint=cache.result(),
            session_token=self._session_token,
            further_brokers=tuple(BrokerUrls(each.url, each.console_url) for each in further),
        )

    async def stop(self) -> None:
        """Stop all started services gracefully, in parallel. May be called after a partial start, and again."""
        self._stopping = True
        for outage in self._outages.values():
            outage.cancel()
        await asyncio.gather(*self._outages.values(), return_exceptions=True)
        await asyncio.gather(*(service.stop() for service in self._started))
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
        await self._guardian.stop()

    async def status(self) -> list[ServiceStatus]:
        """Return one line for each service; takes at most about two seconds."""
        health = await asyncio.gather(
            *(service.healthy() for service in self._started),
            *(external_services.answers(check) for _, check in self._named),
        )
        lines = [
            ServiceStatus(service.name, service.process.pid if service.process else None, service.url, healthy=True)
            for service in self._started
        ] + [line for line, _ in self._named]
        return [replace(line, healthy=healthy) for line, healthy in zip(lines, health, strict=True)]

    def started(self, name: str) -> Service:
        """Return the started service whose name begins with ``name``, for fault injection.

        Raises:
            KeyError: no such service.
        """
        for service in self._started:
            if service.name.startswith(name):
                return service
        raise KeyError(name)

    def kill(self, name: str, seconds: float) -> str:
        """Kill a started service (-9), start it again on the same data after ``seconds``, and return its whole name.

        Raises:
            ServiceError: the stage started no service of that name, or it is killed already.
        """
        try:
            service = self.started(name)
        except KeyError:
            known = ", ".join(service.name for service in self._started) or "none"
            raise ServiceError(f"there is no service {name!r} to kill; the stage started: {known}") from None
        if service.name in self._outages:
            raise ServiceError(f"{service.name} is killed already")
        self._outages[service.name] = asyncio.create_task(self._outage(service, seconds))
        return service.name

    async def _outage(self, service: Service, seconds: float) -> None:
        log.warning("%s is killed and starts again in %g s", service.name, seconds)
        if service.process is not None:
            service.process.send_signal(signal.SIGKILL)
            await service.process.wait()
        await asyncio.sleep(seconds)
        await service.start_again()

    async def watch(self) -> None:
        """Wait until a started service ends unexpectedly; returns when the stage stops.

        External services may be unavailable: the stage did not start them and continues without them.

        Raises:
            ServiceError: a service ended; names it, how it ended, and its log file.
        """
        watching = [asyncio.create_task(self._watch(service)) for service in self._started]
        try:
            if not watching:
                await asyncio.Event().wait()
            done, _ = await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in watching:
                task.cancel()
        if not self._stopping:
            done.pop().result()

    async def _watch(self, service: Service) -> None:
        while (process := service.process) is not None:
            code = await process.wait()
            outage = self._outages.get(service.name)
            if outage is None or self._stopping:
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                raise ServiceError(f"{process.name} ended unexpectedly ({how}); see {process.log}.")
            await outage
            del self._outages[service.name]

    async def _programs(self) -> Mapping[programs.Program, Path]:
        named = {"RABBITMQ": programs.RABBITMQ, "REDIS": programs.REDIS}
        needed = [program for name, program in named.items() if not self._url(name)]
        return await programs.ensure_programs(needed, self._environ)

    def _url(self, name: str) -> str:
        """Where a service runs that the stage does not start; empty if it does."""
        return self._environ.get(f"LOCALSTAGE_{name}_URL", "")

    async def _broker(self, found: Programs) -> list[external_services.BrokerAccess]:
        if urls := self._url("RABBITMQ"):
            return await self._external_brokers(urls)
        nodes = self._nodes((await found)[programs.RABBITMQ])
        if nodes[0].epmd_port:
            await start_epmd(nodes[0], nodes[0].epmd_port)
        self._started += nodes
        await asyncio.gather(*(node.start() for node in nodes))
        brokers: Sequence[RabbitMq | Cluster] = nodes
        if nodes[0].nodes > 1:
            self._cluster = Cluster(nodes)
            brokers = [self._cluster]
            log.info("RabbitMQ has %d nodes, behind %s", len(nodes), self._cluster.url)
        return [
            external_services.BrokerAccess(each.url, self._username, self._password, each.console_url)
            for each in brokers
        ]

    async def _external_brokers(self, urls: str) -> list[external_services.BrokerAccess]:
        """The brokers at ``urls``, which semicolons separate, as those of their management APIs."""
        given, consoles = urls.split(";"), self._url("RABBITMQ_CONSOLE").split(";")
        if len(given) != self._brokers:
            raise ServiceError(f"LOCALSTAGE_RABBITMQ_URL has {len(given)} URLs, and the stage needs {self._brokers}.")
        found = []
        for number, (url, console) in enumerate(zip_longest(given, consoles), 1):
            check = partial(external_services.check_rabbitmq, url, self._username, self._password, console or None)
            found.append(await check())
            self._use(NODES[number - 1].name, found[-1].url, check)
        return found

    def _nodes(self, program: Path) -> list[RabbitMq]:
        """The nodes of RabbitMQ: one, as many of a cluster as the variable says, or one for each broker."""
        said = self._environ.get(BROKER_NODES) or "1"
        if said not in ("1", "3"):
            raise ServiceError(f"{BROKER_NODES} is {said!r}; it can be 1 or 3.")
        count = int(said)
        if count > 1 and self._brokers > 1:
            raise ServiceError("A local stage has several nodes or several brokers: leave out NODES or BROKERS.")
        epmd_port = self._ports.take("rabbitmq-epmd") if count > 1 else 0
        cookie = secrets.token_hex(20)
        return [
            kind(
                self._guardian,
                self._ports,
                self._folder / (f"rabbitmq-cluster-{number}" if count > 1 else _BROKER_FOLDERS[number - 1]),
                program=program,
                username=self._username,
                password=self._password,
                environ=self._environ,
                number=number,
                nodes=count,
                epmd_port=epmd_port,
                cookie=cookie,
            )
            for number, kind in enumerate(NODES[: max(count, self._brokers)], 1)
        ]

    async def _cache(self, found: Programs) -> str:
        if url := self._url("REDIS"):
            endpoint = await external_services.check_redis(url)
            shown = f"redis://{endpoint.rpartition('@')[2]}"
            self._use("Redis", shown, partial(external_services.check_redis, url))
            return endpoint
        program = (await found)[programs.REDIS]
        cache = Redis(self._guardian, self._ports, self._folder / "redis", program=program, environ=self._environ)
        await self._start(cache)
        return cache.endpoint

    async def _dynamodb(self) -> str:
        said = self._environ.get(WRITES_PER_KEY) or "0"
        if not (said.isascii() and said.isdecimal()):
            raise ServiceError(f"{WRITES_PER_KEY} is {said!r}; it must be a whole number, or 0 for no limit.")
        if self._url("DYNAMODB"):
            if int(said):
                raise ServiceError(f"{WRITES_PER_KEY} is for the stage's emulator, not for LOCALSTAGE_DYNAMODB_URL.")
            return await self._use_http("DynamoDB", "DYNAMODB")
        database = DynamoDb(
            self._guardian,
            self._ports,
            self._folder / "dynamodb",
            packages=await install.ensure_node_packages(self._state),
            environ=self._environ,
            session_token=self._session_token,
            writes_per_key=int(said),
        )
        await self._start(database)
        return database.url

    async def _aws(self) -> tuple[str, str, str]:
        """Return the URLs of SQS, S3 and Secrets Manager: one emulator provides each that is not named by URL."""
        named = {"SQS": "SQS", "S3": "S3", "SECRETS_MANAGER": "Secrets Manager"}
        sqs, s3, secrets_manager = [self._url(one) and await self._use_http(named[one], one) for one in named]
        if sqs and s3 and secrets_manager:
            return sqs, s3, secrets_manager
        python = await install.ensure_ministack(self._state)
        emulator = Aws(
            self._guardian,
            self._ports,
            self._folder / "aws",
            python=python,
            environ=self._environ,
            session_token=self._session_token,
        )
        await self._start(emulator)
        return sqs or emulator.url, s3 or emulator.url, secrets_manager or emulator.url

    async def _start(self, service: Service) -> None:
        self._started.append(service)
        await service.start()

    async def _use_http(self, title: str, name: str) -> str:
        check = partial(external_services.check_http, title, f"LOCALSTAGE_{name}_URL", url := self._url(name))
        self._use(title, await check(), check)
        return url

    def _use(self, title: str, url: str, check: external_services.Check) -> None:
        log.info("%s: using %s", title, url)
        self._named.append((ServiceStatus(title, None, url, healthy=True), check))


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first of several failures that were raised together."""
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
