"""The stage's emulator of SQS, for suites that use it as functions do."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from localstage.services import install
from localstage.services.aws import Aws
from localstage.services.guardian import Guardian
from localstage.services.ports import Ports

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = "123456789012"


class Ministack:
    """MiniStack under its own guardian, with an empty folder; driven by a loop in a thread."""

    def __init__(self) -> None:
        self.url = ""
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-ministack-"))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._guardian: Guardian | None = None
        self._service: Aws | None = None

    def start(self) -> None:
        self._thread.start()
        self._do(self._start())

    def close(self) -> None:
        try:
            self._do(self._stop())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    async def _start(self) -> None:
        python = await install.ensure_ministack(ROOT / ".local")
        self._guardian = Guardian()
        await self._guardian.start()
        ports = Ports(self._folder / "ports.json")
        self._service = Aws(self._guardian, ports, self._folder / "aws", python=python, environ=os.environ)
        await self._service.start()
        self.url = self._service.url

    async def _stop(self) -> None:
        if self._service is not None:
            await self._service.stop()
        if self._guardian is not None:
            await self._guardian.stop()
