"""A Redis or Valkey for tests: a cluster of one node, as the local stage starts it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from pathlib import Path

from headrace.runtime.settings import CacheSettings
from localstage.services import programs
from localstage.services.redis import SLOTS, command
from tests.worlds.ports import free_port


class RedisNode:
    """A cache on loopback that can be stopped and started again, empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "redis.log"
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.settings = CacheSettings(cache_endpoint=f"127.0.0.1:{self._port}")

    def start(self) -> None:
        if self._process is not None:
            return
        program = asyncio.run(programs.ensure_programs([programs.REDIS], os.environ))[programs.REDIS]
        # The default is 10,000 above its port, which may not exist.
        bus = ["--cluster-port", str(free_port())]
        options = [*bus, "--port", str(self._port), "--bind", "127.0.0.1", "--dir", str(self._folder), "--save", ""]
        (self._folder / "nodes.conf").unlink(missing_ok=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, *options, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"],
                stdout=log,
                stderr=log,
            )
        asyncio.run(self._until_ready(self._process, time.monotonic() + 30))

    async def _until_ready(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                async with asyncio.timeout(1):
                    info = await command(f"127.0.0.1:{self._port}", "CLUSTER INFO")
            except OSError:
                info = ""
            if "cluster_state:ok" in info:
                return
            if "cluster_slots_assigned:0" in info:
                await command(f"127.0.0.1:{self._port}", f"CLUSTER ADDSLOTSRANGE 0 {SLOTS - 1}")
            await asyncio.sleep(0.02)
        self.kill()
        raise RuntimeError(f"Redis did not start:\n{self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """Kill the node, as a power failure does; its data is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
