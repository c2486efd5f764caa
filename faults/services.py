"""The services of a fault stage, with proxies in front of them, in an event loop of their own thread."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from faults.proxies.http_proxy import HttpProxy, Judge, let_through
from faults.proxies.proxy_faults import SqsWatch
from localstage.services import Endpoints, Services
from localstage.services.service import Service
from localstage.tcp_proxy import TcpProxy

USER = "faults"
CLI_SECONDS = 30

T = TypeVar("T")


class Backing:
    """RabbitMQ behind ``broker``, DynamoDB behind ``dynamodb``, SQS behind ``sqs``; Redis as it is.

    Methods may be called from any thread; the proxies' attributes too (a flag is read at the next byte), but what
    touches connections goes through :meth:`call`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._password = secrets.token_urlsafe(18)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="backing", daemon=True)
        self._under_way: set[asyncio.Task[Any] | None] = set()
        self._services: Services | None = None
        self._endpoints: Endpoints | None = None
        self.broker = TcpProxy(lambda: self.service("RabbitMQ").port)
        self.dynamodb = HttpProxy(lambda: self.service("DynamoDB").url)
        self.sqs = HttpProxy(lambda: self.service("SQS").url)
        self.watch = SqsWatch()

    def start(self) -> None:
        """Start everything with empty data.

        Raises:
            localstage.errors.StageError: a service did not start.
        """
        shutil.rmtree(self.folder / "services", ignore_errors=True)
        self._thread.start()
        self.run(self._start())

    async def _start(self) -> None:
        self._services = Services(
            self.folder, broker_username=USER, broker_password=self._password, environ=dict(os.environ)
        )
        self._endpoints = await self._services.start()
        await self.dynamodb.start()
        await self.sqs.start()
        self.sqs.judge = self.watch

    def stop(self) -> None:
        """Stop everything; works half-started."""
        self.broker.close()
        if self._thread.is_alive():
            self.run(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        # Whoever waited for these was interrupted.
        given_up = [task for task in self._under_way if task is not None and task is not asyncio.current_task()]
        for task in given_up:
            task.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)
        await self.dynamodb.stop()
        await self.sqs.stop()
        if self._services is not None:
            await self._services.stop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` in the loop and wait for it."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(self._noted(work), self._loop)
        return future.result()

    async def _noted(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        self._under_way.add(task)
        try:
            return await work
        finally:
            self._under_way.discard(task)

    def call(self, action: Callable[[], object]) -> None:
        """Run ``action`` in the loop and wait for it."""

        async def work() -> None:
            action()

        self.run(work())

    @property
    def endpoints(self) -> Endpoints:
        """Where the services really are."""
        assert self._endpoints is not None  # noqa: S101 - narrows the type
        return self._endpoints

    def service(self, name: str) -> Service:
        """The service whose name begins with ``name``."""
        assert self._services is not None  # noqa: S101 - narrows the type
        return self._services.started(name)

    def environment(self) -> dict[str, str]:
        """The variables that point a stage to the proxies."""
        return {
            "LOCALSTAGE_RABBITMQ_URL": f"amqp://{USER}:{self._password}@127.0.0.1:{self.broker.port}",
            "LOCALSTAGE_REDIS_URL": f"redis://{self.endpoints.redis_host}:{self.endpoints.redis_port}",
            "LOCALSTAGE_DYNAMODB_URL": self.dynamodb.url,
            "LOCALSTAGE_SQS_URL": self.sqs.url,
            "LOCALSTAGE_SECRETS_MANAGER_URL": self.endpoints.secrets_manager_url,
        }

    @property
    def amqp_url(self) -> str:
        """The broker itself, past the proxy, with credentials."""
        return f"amqp://{USER}:{self._password}@127.0.0.1:{self.service('RabbitMQ').port}"

    def kill(self, name: str) -> None:
        """Kill a service (-9) and wait until it is gone."""
        process = self.service(name).process
        if process is not None:
            self.call(lambda: process.send_signal(signal.SIGKILL))
            self.run(process.wait())

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a service a signal (SIGSTOP makes it silent, SIGCONT lets it go on)."""
        process = self.service(name).process
        if process is not None:
            self.call(lambda: process.send_signal(number))

    def start_again(self, name: str) -> None:
        """Start a killed service on its old port, with its old data."""
        self.run(self.service(name).start_again())

    def judge_dynamodb(self, judge: Judge = let_through) -> None:
        """Let ``judge`` decide about DynamoDB's calls from now on; without one all pass."""
        self.dynamodb.judge = judge

    def judge_sqs(self, judge: Judge | None = None) -> None:
        """Let ``judge`` decide about SQS's calls from now on, those under way are cut; without one all pass."""
        self.sqs.judge = judge or self.watch
        if judge is not None:
            self.call(self.sqs.cut)

    def rabbitmqctl(self, *arguments: str) -> None:
        """Run ``rabbitmqctl`` against this broker.

        Raises:
            subprocess.CalledProcessError: it refused.
        """
        folder = self.folder / "services" / "rabbitmq"
        ports = json.loads((self.folder / "services" / "ports.json").read_text())
        environment = {
            "PATH": "/usr/lib/rabbitmq/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/homebrew/sbin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(ports["rabbitmq-epmd"]),
            "RABBITMQ_NODENAME": "headrace@localhost",
            "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
        }
        command = [str(_beside_server()), *arguments]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=CLI_SECONDS)


def _beside_server() -> Path:
    places = "/usr/lib/rabbitmq/bin:/usr/sbin:/opt/homebrew/sbin"
    found = shutil.which("rabbitmqctl", path=f"{places}:{os.environ.get('PATH', '')}")
    return Path(found or "rabbitmqctl")
