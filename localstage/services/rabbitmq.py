"""The stage's own RabbitMQ, one node or a cluster: names, ports, cookie, folders and epmd are separate from others'."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import ServiceError
from localstage.core.tcp_proxy import TcpProxy
from localstage.services.amqp import LoginRefused, log_in
from localstage.services.guardian import GuardedProcess
from localstage.services.ports import is_free
from localstage.services.service import HOST, Service, plain_environment

_START_SECONDS = 60.0
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
_CLUSTER = """\
cluster_formation.peer_discovery_backend = classic_config
# As on Amazon MQ: nodes that see no majority pause.
cluster_partition_handling = pause_minority
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
    number: int = 1
    """Which node of its cluster, or which broker, it is."""
    nodes: int = 1
    """How many nodes the cluster has. They share the epmd at ``epmd_port``; a node alone starts its own."""
    epmd_port: int = 0
    cookie: str = field(default="", repr=False)
    """The secret of a cluster, for a node without data."""
    ready: bool = field(default=False, init=False)
    """Whether it answered when it was started last."""
    _epmd: GuardedProcess | None = field(default=None, init=False)
    console_port: int = field(default=0, init=False)
    """The port of the management API."""

    @property
    def url(self) -> str:
        return f"amqp://{self.address}"

    @property
    def console_url(self) -> str:
        """The URL of the management API."""
        return f"http://{HOST}:{self.console_port}"

    async def launch(self) -> str:
        self.ready = False
        prefix = "rabbitmq" if self.number == 1 else f"rabbitmq-{self.number}"
        self.port = self.ports.take(prefix)
        self.console_port = self.ports.take(f"{prefix}-management")
        distribution = self.ports.take(f"{prefix}-distribution")
        epmd_port = self.epmd_port or self.ports.take(f"{prefix}-epmd")
        self._configure()
        environment = plain_environment(self.environ, **self._settings(distribution, epmd_port))
        if not self.epmd_port:
            self._epmd = await start_epmd(self, epmd_port)
        self.process = await self.guardian.spawn(
            self.name,
            [self.program],
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
        version = await log_in(self.url, self.username, self.password)
        self.ready = True
        return version

    async def answers(self) -> bool:
        await log_in(self.url, self.username, self.password)
        return True

    async def stop(self) -> None:
        await super().stop()
        if self._epmd is not None:
            await self._epmd.stop(patience=1)

    def _configure(self) -> None:
        """Write the node's files; the account is used only when the data folder is empty."""
        text = _CONFIG.format(host=HOST, port=self.port, console=self.console_port)
        if self.nodes > 1:
            peers = [f"cluster_formation.classic_config.nodes.{n} = {node_name(n)}" for n in range(1, self.nodes + 1)]
            text += "\n".join([_CLUSTER.rstrip(), *peers, ""])
        (self.folder / "rabbitmq.conf").write_text(text)
        (self.folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
        (self.folder / "rabbitmq-env.conf").write_text("")
        account = f"{{default_user, {_binary(self.username)}}}, {{default_pass, {_binary(self.password)}}}"
        write_atomically(self.folder / "advanced.config", f"[{{rabbit, [{account}]}}].\n")
        cookie = self.folder / ".erlang.cookie"
        if not cookie.exists():
            write_atomically(cookie, self.cookie or secrets.token_hex(20))

    def _settings(self, distribution: int, epmd: int) -> dict[str, str]:
        folder = self.folder
        return {
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(epmd),
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": node_name(self.number),
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


class SecondNode(RabbitMq):
    """The second node of a cluster, or the second broker."""

    name = "RabbitMQ 2"


class ThirdNode(RabbitMq):
    """The third node of a cluster."""

    name = "RabbitMQ 3"


NODES = (RabbitMq, SecondNode, ThirdNode)


class Cluster:
    """Nodes behind one address, as on Amazon MQ: a new connection goes to a node that runs, each in turn."""

    def __init__(self, nodes: Sequence[RabbitMq]) -> None:
        self._nodes = nodes
        self._turn = itertools.count()
        self._amqp, self._console = TcpProxy(lambda: self._next().port), TcpProxy(lambda: self._next().console_port)
        self.url = f"amqp://{HOST}:{self._amqp.port}"
        self.console_url = f"http://{HOST}:{self._console.port}"

    def close(self) -> None:
        """Close both addresses."""
        self._amqp.close()
        self._console.close()

    def _next(self) -> RabbitMq:
        up = [node for node in self._nodes if node.ready and node.process is not None and node.process.alive]
        return (up or self._nodes)[next(self._turn) % len(up or self._nodes)]


async def start_epmd(node: RabbitMq, port: int) -> GuardedProcess | None:
    """Start Erlang's name server (epmd) in the foreground: RabbitMQ would start it as a daemon."""
    path = f"{node.program.parent}{os.pathsep}{plain_environment(node.environ)['PATH']}"
    program = shutil.which("epmd", path=path)
    if program is None:
        return None
    environment = plain_environment(node.environ, ERL_EPMD_ADDRESS=HOST)
    node.folder.mkdir(parents=True, exist_ok=True)
    process = await node.guardian.spawn(
        "epmd",
        [program, "-port", str(port)],
        log=node.folder / "epmd.log",
        environment=environment,
    )
    for _ in range(200):
        if not is_free(port):
            break
        await asyncio.sleep(0.01)
    return process


def node_name(number: int) -> str:
    """The name of a node of the cluster in Erlang."""
    return "headrace@localhost" if number == 1 else f"headrace{number}@localhost"


def _binary(text: str) -> str:
    """Return a text as an Erlang binary; written in bytes, so that no character needs escaping."""
    return f"<<{','.join(str(byte) for byte in text.encode())}>>"
