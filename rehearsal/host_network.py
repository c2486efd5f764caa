"""The SAM CLI with containers in the network of this machine; runs in the SAM CLI's environment, with its arguments.

The services of a stage listen on loopback only, which a container reaches in no other network. ``--docker-network
host`` of the SAM CLI does nothing (aws/aws-sam-cli#4236), and the port of its Lambda emulator is fixed, so both are set
here. This uses the SAM CLI's private API; the lock file pins its version.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_container: Any = import_module("samcli.local.docker.container").Container
_lambda_container: Any = import_module("samcli.local.docker.lambda_container").LambdaContainer
_containers: Any = import_module("docker.models.containers").ContainerCollection
_find_free_port: Any = import_module("samcli.local.docker.utils").find_free_port
_HOST = "127.0.0.1"
_PORTS = (20000, 32000)


def _join_host_network() -> None:
    create, make = _container.create, _containers.create

    def in_host_network(self: Any, context: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(self, _lambda_container):
            runtime_api = _find_free_port(network_interface=_HOST, start=_PORTS[0], end=_PORTS[1])
            emulator = ["--runtime-interface-emulator-address", f"{_HOST}:{self.rapid_port_host}"]
            self._entrypoint = [*self._entrypoint, *emulator, "--runtime-api-address", f"{_HOST}:{runtime_api}"]
            self._container_opts = {**(self._container_opts or {}), "network_mode": "host"}
        return create(self, context, *rest, **named)

    def without_ports(self: Any, image: Any, **named: Any) -> Any:
        if named.get("network_mode") == "host":
            del named["ports"]  # an engine maps no ports of the host's network
        return make(self, image, **named)

    _container.create, _containers.create = in_host_network, without_ports


if __name__ == "__main__":
    _join_host_network()
    import_module("samcli.cli.main").cli(prog_name="sam")
