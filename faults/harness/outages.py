"""Faults as context managers: each breaks one thing while its block runs, and repairs it at the end.

An exception in a block ends the whole run, so a killed service is restarted only after a block that succeeded.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from faults.harness.services import Outage, ProxiedServices, rabbitmqctl
from faults.proxies.http_proxy import Fault
from faults.proxies.proxy_faults import LosesConfirms, down, refuse

LOWEST_WATERMARK, USUAL_WATERMARK = "0.00001", "0.4"
USUAL_DISK_LIMIT = "50MB"
"""As in the configuration of the local stage."""

P = ParamSpec("P")
T = TypeVar("T")


def outage(
    breaks: Callable[Concatenate[ProxiedServices, P], Iterator[T]],
) -> Callable[Concatenate[ProxiedServices, P], AbstractContextManager[T]]:
    """A context manager from a generator, as ``contextmanager`` does; records when the outage began and ended."""
    manager = contextmanager(breaks)

    @contextmanager
    @wraps(breaks)
    def recorded(services: ProxiedServices, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        services.outages.append(this := Outage(time.monotonic()))
        with manager(services, *args, **kwargs) as value:
            yield value
        this.ended = time.monotonic()

    return recorded


@outage
def killed(services: ProxiedServices, *names: str) -> Iterator[None]:
    """The services are killed (-9), and restarted on their old ports and data."""
    for name in names:
        services.kill(name)
    yield
    services.restart(*names)


@outage
def silent(services: ProxiedServices, name: str) -> Iterator[None]:
    """The service accepts connections and does not answer."""
    services.signal(name, signal.SIGSTOP)
    try:
        yield
    finally:
        services.signal(name, signal.SIGCONT)


@outage
def memory_alarm(services: ProxiedServices) -> Iterator[None]:
    """The broker's memory alarm blocks every publisher."""
    rabbitmqctl(services.folder, "set_vm_memory_high_watermark", LOWEST_WATERMARK)
    yield
    rabbitmqctl(services.folder, "set_vm_memory_high_watermark", USUAL_WATERMARK)


@outage
def disk_full(services: ProxiedServices, node: int) -> Iterator[None]:
    """A node of the cluster has no free disk, which blocks every publisher."""
    rabbitmqctl(services.folder, "set_disk_free_limit", str(10**18), node=node)
    yield
    rabbitmqctl(services.folder, "set_disk_free_limit", USUAL_DISK_LIMIT, node=node)


@outage
def cut_off(services: ProxiedServices, node: int) -> Iterator[None]:
    """A node of the cluster loses its connections to the others, and makes no new ones: their secret is another."""
    cookie = (services.folder / "services" / f"rabbitmq-cluster-{node}" / ".erlang.cookie").read_text()
    parted = "erlang:set_cookie(node(), other), [erlang:disconnect_node(Other) || Other <- nodes()]."
    rabbitmqctl(services.folder, "eval", parted, node=node)
    yield
    rabbitmqctl(
        services.folder, "--erlang-cookie", "other", "eval", f"erlang:set_cookie(node(), '{cookie}').", node=node
    )


@outage
def broker_refusing(services: ProxiedServices) -> Iterator[None]:
    """The broker's connections are reset, and so is every new one."""
    services.broker.to_server = refuse
    services.broker.cut()
    yield
    services.broker.pass_all()


@outage
def broker_stalled(services: ProxiedServices, *, cut: bool = False) -> Iterator[None]:
    """Nothing gets through to the broker or back; ``cut`` resets the connections at the end."""
    services.broker.stall()
    yield
    if cut:
        services.broker.cut()
    services.broker.pass_all()


@outage
def broker_slow(services: ProxiedServices, seconds: float) -> Iterator[None]:
    """Everything reaches the broker ``seconds`` late."""
    services.broker.delay = seconds
    yield
    services.broker.pass_all()


@outage
def confirms_lost(services: ProxiedServices, count: int) -> Iterator[LosesConfirms]:
    """``count`` connections are reset after the broker has the message and before its publisher has the confirm."""
    services.broker.to_client = confirms = LosesConfirms(count)
    yield confirms
    services.broker.pass_all()


@outage
def dynamodb_fault(services: ProxiedServices, fault: Fault) -> Iterator[None]:
    """Every call of DynamoDB goes to ``fault``."""
    services.dynamodb.fault = fault
    yield
    services.dynamodb.fault = None


@outage
def sqs_down(services: ProxiedServices) -> Iterator[None]:
    """Every connection to SQS is cut, those under way included."""
    services.sqs.fault = down
    services.cut_sqs()
    yield
    services.sqs.fault = None


@contextmanager
def both(one: AbstractContextManager[object], other: AbstractContextManager[object]) -> Iterator[None]:
    """Two outages at once."""
    with one, other:
        yield


@outage
def connections_fault(services: ProxiedServices, fault: Fault) -> Iterator[None]:
    """Every call of @connections goes to ``fault``."""
    services.connections.fault = fault
    yield
    services.connections.fault = None
