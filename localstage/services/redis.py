"""Redis or Valkey as a cluster of one node, so that multi-key commands across slots fail as they do on ElastiCache.

An *endpoint* here is ``host:port``, with ``user:password@`` before it where the cache has a password.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import ServiceError
from localstage.services.service import HOST, Service, plain_environment

SLOTS = 16384
_BUS = 10000
"""Redis listens for its cluster bus this far above its port."""
_CONFIG = """\
port {port}
bind {host}
requirepass {password}
cluster-enabled yes
cluster-config-file nodes.conf
cluster-announce-ip {host}
appendonly no
save ""
daemonize no
"""


@dataclass(eq=False, kw_only=True)
class Redis(Service):
    """A cache without persistence; its password is in ``folder/password`` and the same at the next start."""

    name = "Redis"

    program: Path
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def url(self) -> str:
        return f"redis://{self.address}"

    @property
    def endpoint(self) -> str:
        """Its endpoint, with the password."""
        return f":{self._password()}@{self.address}"

    def _password(self) -> str:
        file = self.folder / "password"
        if not file.exists():
            write_atomically(file, secrets.token_hex(20))
        return file.read_text()

    async def launch(self) -> str:
        self.port = self.ports.take("redis", also=(_BUS,))
        # With a node file of an earlier run, the node would wait for a cluster that does not exist.
        (self.folder / "nodes.conf").unlink(missing_ok=True)
        config = self.folder / "redis.conf"
        # A file, because other users of the machine see the arguments of a process.
        write_atomically(config, _CONFIG.format(port=self.port, host=HOST, password=self._password()))
        self.process = await self.guardian.spawn(
            self.name,
            [self.program, config],
            log=self.folder / "redis.log",
            environment=plain_environment(self.environ),
        )
        await self.until_it_answers(10)
        info = dict(line.partition(":")[::2] for line in (await command(self.endpoint, "INFO server")).splitlines())
        valkey = info.get("valkey_version")
        return f"(Valkey {valkey})" if valkey else info.get("redis_version", "")

    async def answers(self) -> bool:
        # The stage's status may ask while Redis starts, and slots can be assigned only once.
        async with self._asking:
            info = await command(self.endpoint, "CLUSTER INFO")
            if f"cluster_slots_assigned:{SLOTS}" not in info:
                await command(self.endpoint, "CLUSTER ADDSLOTS " + " ".join(str(slot) for slot in range(SLOTS)))
                return False
            return "cluster_state:ok" in info


async def command(endpoint: str, line: str) -> str:
    """Send one command without arguments that need quoting; returns the text of its answer.

    Raises:
        OSError: nothing listens there.
        ServiceError: it answered with an error.
    """
    parts = urlsplit(f"//{endpoint}")
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        if parts.password:
            user = [unquote(parts.username)] if parts.username else []
            await _ask(reader, writer, ["AUTH", *user, unquote(parts.password)])
        return await _ask(reader, writer, line.split())
    except ServiceError as error:
        raise ServiceError(f"Redis on {parts.hostname}:{parts.port} answered: {error}.") from None
    finally:
        writer.close()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: list[str]) -> str:
    encoded = [word.encode() for word in words]
    writer.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
    head = (await reader.readline()).decode().rstrip("\r\n")
    if head.startswith("-"):
        raise ServiceError(head[1:])
    if head.startswith("$"):
        return (await reader.readexactly(int(head[1:]) + 2)).decode().rstrip("\r\n")
    return head[1:]
