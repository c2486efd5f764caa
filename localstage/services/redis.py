"""Redis or Valkey as a cluster of one node, so that multi-key commands across slots fail as they do on ElastiCache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from localstage.core.errors import ServiceError
from localstage.services.guardian import Guardian
from localstage.services.ports import Ports
from localstage.services.service import HOST, Service, plain_environment

SLOTS = 16384
_BUS = 10000
"""Redis listens for its cluster bus this far above its port."""


class Redis(Service):
    """A cache without persistence: only the node's name is written to disk."""

    name = "Redis"

    def __init__(
        self, guardian: Guardian, ports: Ports, folder: Path, *, program: Path, environ: Mapping[str, str]
    ) -> None:
        super().__init__(guardian, ports, folder)
        self._program = program
        self._environ = environ
        if program.name.startswith("valkey"):
            self.name = "Valkey"

    @property
    def url(self) -> str:
        return f"redis://{self.address}"

    async def launch(self) -> str:
        self.port = self.ports.take("redis", also=(_BUS,))
        # With a node file of an earlier run, the node would wait for a cluster that does not exist.
        (self.folder / "nodes.conf").unlink(missing_ok=True)
        settings = {
            "port": str(self.port),
            "bind": HOST,
            "dir": str(self.folder),
            "cluster-enabled": "yes",
            "cluster-config-file": "nodes.conf",
            "cluster-announce-ip": HOST,
            "appendonly": "no",
            "save": "",
            "daemonize": "no",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        self.process = await self.guardian.spawn(
            self.name,
            [self._program, *options],
            folder=self.folder,
            log=self.folder / "redis.log",
            environment=plain_environment(self._environ),
        )
        await self.until_it_answers(10)
        info = await command(HOST, self.port, "INFO server")
        return next((line[14:] for line in info.splitlines() if line.startswith("redis_version:")), "")

    async def answers(self) -> bool:
        info = await command(HOST, self.port, "CLUSTER INFO")
        if f"cluster_slots_assigned:{SLOTS}" not in info:
            await command(HOST, self.port, "CLUSTER ADDSLOTS " + " ".join(str(slot) for slot in range(SLOTS)))
            return False
        return "cluster_state:ok" in info


async def command(host: str, port: int, line: str) -> str:
    """Send one command without arguments that need quoting; returns the text of its answer.

    Raises:
        OSError: nothing listens there.
        ServiceError: it answered with an error.
    """
    reader, writer = await asyncio.open_connection(host, port)
    try:
        words = [word.encode() for word in line.split()]
        writer.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        head = (await reader.readline()).decode().rstrip("\r\n")
        if head.startswith("-"):
            raise ServiceError(f"Redis on {host}:{port} answered: {head[1:]}.")
        if head.startswith("$"):
            return (await reader.readexactly(int(head[1:]))).decode()
        return head[1:]
    finally:
        writer.close()
