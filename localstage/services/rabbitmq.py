"""The stage's own RabbitMQ node: its name, port, cookie, folder and epmd are separate from other nodes'."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import ServiceError
from localstage.services.amqp import LoginRefused, log_in
from localstage.services.guardian import GuardedProcess
from localstage.services.ports import is_free
from localstage.services.service import HOST, Service, plain_environment

_START_SECONDS = 60.0
_NODE = "headrace@localhost"
_CONFIG = """\
listeners.tcp.1 = {host}:{port}
management.tcp.ip = {host}
management.tcp.port = {console}
# The functions only manage users, and statistics cost processor time.
management_agent.disable_metrics_collector = true
loopback_users = none
log.file.level = info
log.console = false
# Block publishers before a full disk stops the node.
disk_free_limit.absolute = 50MB
# Of the quorum queues' log: the default of 512 MB is meant for a server.
raft.wal_max_size_bytes = 64000000
"""


@dataclass(eq=False, kw_only=True)
class RabbitMq(Service):
    """A broker whose queues survive restarts and ``kill -9``; ``username`` is its administrator.

    Its management API, for which RabbitMQ brings the plugin, is at ``console_url``.
    """

    name = "RabbitMQ"

    program: Path
    username: str
    password: str = field(repr=False)
    _epmd: GuardedProcess | None = field(default=None, init=False)
    _console_port: int = field(default=0, init=False)

    @property
    def url(self) -> str:
        return f"amqp://{self.address}"

    @property
    def console_url(self) -> str:
        """The URL of the management API."""
        return f"http://{HOST}:{self._console_port}"

    async def launch(self) -> str:
        self.port = self.ports.take("rabbitmq")
        self._console_port = self.ports.take("rabbitmq-management")
        distribution, epmd_port = self.ports.take("rabbitmq-distribution"), self.ports.take("rabbitmq-epmd")
        self._configure()
        environment = plain_environment(self.environ, **self._settings(distribution, epmd_port))
        await self._start_epmd(epmd_port, environment)
        self.process = await self.guardian.spawn(
            self.name,
            [self.program],
            folder=self.folder,
            log=self.folder / "rabbitmq.log",
            environment=environment,
            # RabbitMQ stores the place of a quorum queue's log only half a second after the queue is declared.
            saves_at_end=True,
        )
        try:
            await self.until_it_answers(_START_SECONDS)
        except LoginRefused:
            raise ServiceError(
                "The broker's data in .local was created with other credentials than the stage has now. "
                "To start with empty data, run: make reset"
            ) from None
        return await log_in(self.url, self.username, self.password)

    async def answers(self) -> bool:
        await log_in(self.url, self.username, self.password)
        return True

    async def stop(self) -> None:
        await super().stop()
        if self._epmd is not None:
            await self._epmd.stop(patience=1)

    async def _start_epmd(self, port: int, environment: Mapping[str, str]) -> None:
        """Start Erlang's name server (epmd) in the foreground: RabbitMQ would start it as a daemon."""
        program = shutil.which("epmd", path=environment["PATH"])
        if program is None:
            return
        self._epmd = await self.guardian.spawn(
            "epmd",
            [program, "-port", str(port)],
            folder=self.folder,
            log=self.folder / "epmd.log",
            environment=environment,
        )
        for _ in range(200):
            if not is_free(port):
                return
            await asyncio.sleep(0.01)

    def _configure(self) -> None:
        """Write the node's files; the account is used only when the data folder is empty."""
        (self.folder / "rabbitmq.conf").write_text(
            _CONFIG.format(host=HOST, port=self.port, console=self._console_port)
        )
        (self.folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
        (self.folder / "rabbitmq-env.conf").write_text("")
        account = f"{{default_user, {_binary(self.username)}}}, {{default_pass, {_binary(self.password)}}}"
        write_atomically(self.folder / "advanced.config", f"[{{rabbit, [{account}]}}].\n")
        cookie = self.folder / ".erlang.cookie"
        if not cookie.exists():
            write_atomically(cookie, secrets.token_hex(20))

    def _settings(self, distribution: int, epmd: int) -> dict[str, str]:
        folder = self.folder
        return {
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(epmd),
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": _NODE,
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}"
            " +sbwt none +sbwtdcpu none +sbwtdio none",
            "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "rabbitmq.pid"),
            # The start script then replaces itself with the Erlang VM instead of waiting for it.
            "detached": "true",
        }


def _binary(text: str) -> str:
    """Return a text as an Erlang binary; written in bytes, so that no character needs escaping."""
    return f"<<{','.join(str(byte) for byte in text.encode())}>>"
