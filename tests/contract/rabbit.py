"""A RabbitMQ node for tests, with separate ports and folders, killed by its process group; and its publishers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
import urllib3
from pika import BlockingConnection, URLParameters

from headrace.queues.names import persist_queue, persist_queues
from headrace.queues.ports import Outcome, Outgoing
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from headrace.queues.rabbitmq.topology import declare
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import BrokerSettings
from localstage.services.programs import RABBITMQ, ensure_programs
from localstage.services.services import BROKER_NODES
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

QUEUES = {"chat": 4}
GUEST = json.dumps({"username": "guest", "password": "guest"})
PATIENT = 20.0
"""Seconds where a test is not about running out of time: a busy machine can stand still for more than a second."""


class Rabbit:
    """A broker with user ``guest`` / ``guest`` on loopback; TLS, as ``localhost``, on ``tls_port``.

    Its management API is on ``console_port``, with TLS on ``console_tls_port``. With ``LOCALSTAGE_BROKER_NODES=3`` it
    is the first node of a cluster, the one that is killed; its two peers stay up.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="headrace-rabbit-"))
        self.port, self.tls_port = free_port(), free_port()
        self.console_port, self.console_tls_port = free_port(), free_port()
        self.certificate, self._key = self.folder / "certificate.pem", self.folder / "key.pem"
        self._ports = (free_port(), free_port())
        self._program = asyncio.run(ensure_programs([RABBITMQ], os.environ))[RABBITMQ]
        self.name = f"headrace-{self.port}@localhost"
        nodes = int(os.environ.get(BROKER_NODES) or "1")
        self.peers = {f"headrace-{self.port}-{n}@localhost": (free_port(), free_port()) for n in range(2, nodes + 1)}
        self._hosts = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._peer_processes: list[subprocess.Popen[bytes]] = []
        # The server would start a port mapper that outlives it; this child process ends with the test.
        self._mapper: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self.port}"

    @property
    def console_url(self) -> str:
        return f"http://127.0.0.1:{self.console_port}"

    def start(self) -> None:
        distribution, epmd = self._ports
        (self.folder / "plugins").write_text("[rabbitmq_management].")
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.local = 127.0.0.1:{self.port}\nlog.console = false\nloopback_users = none\n"
            f"listeners.ssl.local = 127.0.0.1:{self.tls_port}\n"
            f"ssl_options.certfile = {self.certificate}\nssl_options.keyfile = {self._key}\n"
            f"management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {self.console_port}\n"
            f"management.ssl.ip = 127.0.0.1\nmanagement.ssl.port = {self.console_tls_port}\n"
            f"management.ssl.certfile = {self.certificate}\nmanagement.ssl.keyfile = {self._key}\n"
            f"management_agent.disable_metrics_collector = true\n{self._cluster()}"
        )
        if not self.certificate.exists():
            self._certify()
        variables = {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none",
            # The start script then replaces itself with the Erlang VM, so a killed node is gone when its process is.
            "detached": "true",
        }
        if self._mapper is None:
            path = f"{self._program.parent}{os.pathsep}{os.environ['PATH']}"
            mapper = shutil.which("epmd", path=path) or "epmd"
            self._mapper = subprocess.Popen([mapper, "-port", str(epmd), "-address", "127.0.0.1"])
        if self.peers and not self._peer_processes:
            self._peer_processes = [self._start_peer(name, variables) for name in self.peers]
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [self._program], env=os.environ | variables, stdout=output, stderr=output, start_new_session=True
            )
        for port in (self.port, *(port for port, _ in self.peers.values())):
            self._wait_for(port, self._process)

    def _wait_for(self, port: int, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + (180 if self.peers else 60)
        while time.monotonic() < deadline and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError((self.folder / "output").read_text())

    def _cluster(self) -> str:
        nodes = [self.name, *self.peers] if self.peers else []
        lines = [f"cluster_formation.classic_config.nodes.{n} = {node}\n" for n, node in enumerate(nodes, 1)]
        return "".join(["cluster_partition_handling = pause_minority\n", *lines]) if lines else ""

    def _start_peer(self, name: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
        port, distribution = self.peers[name]
        folder = self.folder / name
        folder.mkdir()
        (folder / "plugins").write_text("[].")
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.local = 127.0.0.1:{port}\nlog.console = false\nloopback_users = none\n{self._cluster()}"
        )
        own = {
            "RABBITMQ_NODENAME": name,
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }
        with (folder / "output").open("ab") as output:
            return subprocess.Popen(
                [self._program], env=os.environ | variables | own, stdout=output, stderr=output, start_new_session=True
            )

    def _certify(self) -> None:
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
        more = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(self._key), "-out", str(self.certificate)]
        subprocess.run([*command, *more], check=True, capture_output=True)

    def sync(self) -> None:
        """Write the metadata of declared queues to disk: a node that is killed earlier may forget a queue.

        In one of about fifteen declarations, Mnesia writes the transaction to its log, and the outcome up to 2 s later.
        Without the outcome, the next start undoes the declaration. RabbitMQ 4.3 has no Mnesia. The name of a quorum
        queue's log is written up to half a second later, in any version.
        """
        self.control("eval", "catch mnesia:sync_log(), [dets:sync(Table) || Table <- dets:all()].")

    def kill(self) -> None:
        """Kill the node, as a power failure does, and wait until it is gone."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def start_again(self) -> None:
        """Start the node if it was killed."""
        if self._process is None:
            self.start()

    def freeze(self) -> None:
        """Stop the node: its sockets stay open without an answer."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT)

    def virtual_host(self) -> str:
        """The URL of a new virtual host, in which ``guest`` may do everything. It ends with the broker."""
        name = f"host-{next(self._hosts)}"
        self.manage("PUT", f"vhosts/{name}")
        self.manage("PUT", f"permissions/{name}/guest", {"configure": ".*", "write": ".*", "read": ".*"})
        return f"{self.url}/{name}"

    def manage(self, method: str, path: str, body: Mapping[str, str] | None = None) -> None:
        """The management API takes milliseconds where ``rabbitmqctl`` takes seconds."""
        headers = urllib3.make_headers(basic_auth="guest:guest")
        answer = urllib3.request(method, f"{self.console_url}/api/{path}", json=body or {}, headers=headers)
        assert answer.status < 300, answer.data

    def control(self, *arguments: str) -> str:
        """``rabbitmqctl eval`` and friends, on this node."""
        variables = {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._ports[1]),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
        }
        command = [self._program.with_name("rabbitmqctl"), "-n", self.name, *arguments]
        return subprocess.run(command, env=os.environ | variables, check=True, capture_output=True, text=True).stdout

    def remove(self) -> None:
        self.kill()
        for peer in self._peer_processes:
            os.killpg(peer.pid, signal.SIGKILL)
            peer.wait()
        if self._mapper is not None:
            self._mapper.kill()
            self._mapper.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def running_rabbit() -> Iterator[Rabbit]:
    """A running broker, which is removed afterwards."""
    broker = Rabbit()
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


def settings(*urls: str) -> BrokerSettings:
    return BrokerSettings(broker_endpoints=(urls,), broker_secret_arn="arn", persist_queues=QUEUES)


def publisher_to(*urls: str, secrets: Secrets | None = None) -> RabbitPublisher:
    """A publisher whose budget does not run out."""
    return RabbitPublisher(settings(*urls), secrets or MemorySecrets({"arn": GUEST}), PATIENT)


def outgoing(text: str = "hello", queue: int = 0) -> Outgoing:
    return Outgoing(persist_queue("chat", queue), text.encode(), "c-1")


def drain(url: str) -> list[bytes]:
    """Everything in the persist queues, taken out."""
    connection = BlockingConnection(URLParameters(url))
    channel = connection.channel()
    bodies = []
    for queue in persist_queues(QUEUES):
        while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
            bodies.append(got[2])
    connection.close()
    return bodies


def kinds(outcomes: Sequence[Outcome]) -> list[type]:
    return [type(outcome) for outcome in outcomes]


@pytest.fixture(name="broker", scope="module")
def declared_broker(rabbit: Rabbit) -> Rabbit:
    declare(settings(rabbit.url), MemorySecrets({"arn": GUEST}), seconds=20)
    return rabbit
