"""The emulators of the local stage, started as the stage starts them: dynalite for DynamoDB, MiniStack for SQS."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import pytest
from botocore.config import Config
from botocore.session import Session

from headrace.runtime.aws import session
from localstage.services import install
from localstage.services.aws import SECRET_KEY, Aws
from localstage.services.dynamodb import DynamoDb
from localstage.services.guardian import Guardian
from localstage.services.ports import Ports

INSTALLED = Path(__file__).resolve().parents[2] / ".local"
"""Downloaded programs are shared with the stage of this clone."""

T = TypeVar("T")


class AwsWithTables(Aws):
    """The stage's MiniStack, and its DynamoDB: another one than the stage's, to compare with."""

    def settings(self) -> dict[str, str]:
        settings = super().settings()
        return settings | {"SERVICES": f"{settings['SERVICES']},dynamodb"}


class Emulators:
    """Both emulators, with data in ``folder``, under a guardian, on a thread with its own event loop."""

    def __init__(self, folder: Path, session_token: str = "") -> None:
        self._folder = folder
        self._session_token = session_token
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="emulators", daemon=True)
        self.dynamodb_url = ""
        self.sqs_url = ""

    def start(self) -> None:
        self._thread.start()
        self._do(self._start())

    async def _start(self) -> None:
        packages = await install.ensure_node_packages(INSTALLED)
        python = await install.ensure_ministack(INSTALLED)
        self._guardian = Guardian()
        await self._guardian.start()
        ports = Ports(self._folder / "ports.json")
        options: Any = {"environ": dict(os.environ), "session_token": self._session_token}
        dynamodb = DynamoDb(self._guardian, ports, self._folder / "dynamodb", packages=packages, **options)
        aws = AwsWithTables(self._guardian, ports, self._folder / "aws", python=python, **options)
        await asyncio.gather(dynamodb.start(), aws.start())
        self.dynamodb_url, self.sqs_url = dynamodb.url, aws.url
        self._services = (dynamodb, aws)

    def stop(self) -> None:
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        await asyncio.gather(*(service.stop() for service in self._services))
        await self._guardian.stop()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)


def function_environment(monkeypatch: pytest.MonkeyPatch, url: str) -> str:
    """Point the AWS clients that functions create from now on to ``url``."""
    for name, value in {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_ENDPOINT_URL": url,
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    # The session of functions keeps its first credentials, which can be those of a test before.
    kept: Any = session().get_credentials()
    kept.access_key, kept.secret_key, kept.token = "test", SECRET_KEY, None
    return url


@cache
def _session() -> Session:
    """It keeps the models of the services, which take long to load."""
    return Session()


def sdk(service: str) -> Any:
    """AWS's own client of ``service`` in the environment of a function: it makes and deletes what tests need.

    It is patient, because a first call loads much of an emulator.
    """
    config = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 1}, parameter_validation=False)
    return _session().create_client(service, config=config)
