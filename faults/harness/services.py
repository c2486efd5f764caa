"""The services of a fault stage behind proxies, in an event loop in a separate thread."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

from faults.proxies.http_proxy import HttpProxy
from faults.proxies.proxy_faults import Pushed, StoredTimes, TakenBySqs
from localstage.core.model import ACCOUNT
from localstage.core.tcp_proxy import TcpProxy
from localstage.services import Endpoints, Services
from localstage.services.programs import RABBITMQ, ensure_programs
from localstage.services.rabbitmq import node_name
from localstage.services.service import Service

USER = "faults"
CLI_SECONDS = 30

T = TypeVar("T")


@dataclass
class Outage:
    """When something was broken, in seconds of the monotonic clock; ``ended`` is None until then."""

    began: float
    ended: float | None = None


class ProxiedServices:
    """The first RabbitMQ behind ``broker``, DynamoDB behind ``dynamodb``, SQS behind ``sqs``; Redis as it is.

    @connections of the stage at ``websocket_url`` is behind ``connections``. Methods and the faults of the proxies may
    be used from any thread. ``stored`` knows when messages were stored, ``taken`` what SQS took, ``pushed`` what was
    pushed. ``outages`` are those of :mod:`faults.harness.outages` so far.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str] = MappingProxyType({}), brokers: int = 1) -> None:
        self.folder = folder
        self._environ = {**os.environ, **variables}
        self._brokers = brokers
        self.outages: list[Outage] = []
        self._password = secrets.token_urlsafe(18)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="services", daemon=True)
        self._services: Services | None = None
        self._endpoints: Endpoints | None = None
        self.broker = TcpProxy(lambda: self._broker_port)
        self.stored = StoredTimes()
        self.dynamodb = HttpProxy(lambda: self.service("DynamoDB").url, self.stored)
        self.taken = TakenBySqs()
        self.sqs = HttpProxy(lambda: self.service("SQS").url, self.taken)
        self.websocket_url, self.pushed = "", Pushed()
        self.connections = HttpProxy(lambda: self.websocket_url.replace("ws", "http", 1), self.pushed)
        self.proxies = (self.dynamodb, self.sqs, self.connections)

    def start(self) -> None:
        """Start everything with empty data.

        Raises:
            localstage.core.errors.StageError: a service did not start.
        """
        shutil.rmtree(self.folder / "services", ignore_errors=True)
        self._thread.start()
        self._run(self._start())

    async def _start(self) -> None:
        self._services = Services(
            self.folder,
            broker_username=USER,
            broker_password=self._password,
            environ=self._environ,
            brokers=self._brokers,
        )
        self._endpoints = await self._services.start()
        for proxy in self.proxies:
            await proxy.start()

    def stop(self) -> None:
        """Stop everything. May be called after a failed start."""
        self.broker.close()
        if self._thread.is_alive():
            self._run(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        # Ctrl-C interrupted the callers of some of these tasks; the others are calls of the proxies.
        abandoned = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in abandoned:
            task.cancel()
        await asyncio.gather(*abandoned, return_exceptions=True)
        for proxy in self.proxies:
            await proxy.stop()
        if self._services is not None:
            await self._services.stop()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` in the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def endpoints(self) -> Endpoints:
        """The services behind the proxies."""
        assert self._endpoints is not None  # noqa: S101 - narrows the type
        return self._endpoints

    def service(self, name: str) -> Service:
        """The service whose name begins with ``name``."""
        assert self._services is not None  # noqa: S101 - narrows the type
        return self._services.started(name)

    def environment(self) -> dict[str, str]:
        """The environment variables that make a stage use the proxies."""
        further = self.endpoints.further_brokers
        brokers = [self._amqp_url(self.broker.port), *self.amqp_urls[1:]]
        return {
            "LOCALSTAGE_RABBITMQ_URL": ";".join(brokers),
            "LOCALSTAGE_RABBITMQ_CONSOLE_URL": ";".join(
                [self.endpoints.broker_console_url, *(each.console for each in further)]
            ),
            "LOCALSTAGE_REDIS_URL": f"redis://{self.endpoints.cache_endpoint}",
            "LOCALSTAGE_DYNAMODB_URL": self.dynamodb.url,
            "LOCALSTAGE_SQS_URL": self.sqs.url,
            "LOCALSTAGE_MANAGEMENT_URL": self.connections.url,
            "LOCALSTAGE_S3_URL": self.endpoints.s3_url,
            "LOCALSTAGE_SECRETS_MANAGER_URL": self.endpoints.secrets_manager_url,
        }

    def sqs_client(self) -> Any:
        """A client of the SQS behind the proxy."""
        config = Config(retries={"total_max_attempts": 2}, read_timeout=10)
        session = boto3.session.Session(ACCOUNT, "local", region_name="us-east-1")  # an emulator takes any secret
        return session.client("sqs", endpoint_url=self.endpoints.sqs_url, config=config)

    @property
    def amqp_urls(self) -> list[str]:
        """The URL of each broker without a proxy, with credentials."""
        further = [urlsplit(each.amqp).port or 0 for each in self.endpoints.further_brokers]
        return [self._amqp_url(port) for port in (self._broker_port, *further)]

    def _amqp_url(self, port: int) -> str:
        return f"amqp://{USER}:{self._password}@127.0.0.1:{port}"

    @property
    def _broker_port(self) -> int:
        return urlsplit(self.endpoints.amqp_url).port or 0

    def kill(self, name: str) -> None:
        """Kill a service (-9) and wait until it is gone."""
        process = self.service(name).process
        if process is not None:
            process.send_signal(signal.SIGKILL)
            self._run(process.wait())

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a service a signal (SIGSTOP makes it silent, SIGCONT ends that)."""
        process = self.service(name).process
        if process is not None:
            process.send_signal(number)

    def restart(self, *names: str) -> None:
        """Start services on their old ports, with their old data, at once; those that run are stopped before."""

        async def work() -> None:
            await asyncio.gather(*(self.service(name).start_again() for name in names))

        self._run(work())

    def works_at(self, moment: float) -> float:
        """``moment``, in seconds of the monotonic clock, or the end of the outage that it was in."""
        return next((each.ended for each in self.outages if each.ended and each.began <= moment < each.ended), moment)

    def cut_sqs(self) -> None:
        """Cut the connections of all SQS calls under way."""
        self._loop.call_soon_threadsafe(self.sqs.cut)


def rabbitmqctl(folder: Path, *arguments: str, node: int = 0) -> str:
    """What ``rabbitmqctl`` prints for the broker of the stage whose files are in ``folder``, or for a cluster's node.

    Raises:
        subprocess.CalledProcessError: it refused.
    """
    broker = folder / "services" / (f"rabbitmq-cluster-{node}" if node else "rabbitmq")
    ports = json.loads((folder / "services" / "ports.json").read_text())
    server = asyncio.run(ensure_programs([RABBITMQ], os.environ))[RABBITMQ]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(broker),
        "LANG": "C.UTF-8",
        "ERL_EPMD_PORT": str(ports["rabbitmq-epmd"]),
        "RABBITMQ_NODENAME": node_name(node or 1),
        "RABBITMQ_CONF_ENV_FILE": str(broker / "rabbitmq-env.conf"),
    }
    command = [str(server.with_name("rabbitmqctl")), *arguments]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=CLI_SECONDS)
    return run.stdout
