"""A RabbitMQ of the tests' own: own node, ports and folders; killed by its process group."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Rabbit:
    """A broker with user ``guest`` / ``guest`` on loopback."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="headrace-rabbit-"))
        self.port = free_port()
        self._ports = (free_port(), free_port())
        self._process: subprocess.Popen[bytes] | None = None
        # The server would start a port mapper that outlives it; this one is a child, and ends with us.
        self._mapper: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self.port}"

    def start(self) -> None:
        distribution, epmd = self._ports
        (self.folder / "plugins").write_text("[].")
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.local = 127.0.0.1:{self.port}\nlog.console = false\nloopback_users = none\n"
        )
        variables = {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"headrace-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none",
        }
        if self._mapper is None:
            self._mapper = subprocess.Popen(["epmd", "-port", str(epmd), "-address", "127.0.0.1"])
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [SERVER], env=os.environ | variables, stdout=output, stderr=output, start_new_session=True
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError((self.folder / "output").read_text())

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Keep its sockets open, and answer nothing."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT)

    def control(self, *arguments: str) -> str:
        """``rabbitmqctl eval`` and friends, on this node."""
        variables = {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._ports[1]),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
        }
        command = ["/usr/lib/rabbitmq/bin/rabbitmqctl", "-n", f"headrace-{self.port}@localhost", *arguments]
        return subprocess.run(command, env=os.environ | variables, check=True, capture_output=True, text=True).stdout

    def remove(self) -> None:
        self.kill()
        if self._mapper is not None:
            self._mapper.kill()
            self._mapper.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
