"""Services that run outside the stage: named by URL, checked, never started or stopped by the stage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from localstage.core.errors import ServiceError
from localstage.services import redis
from localstage.services.amqp import LoginRefused, log_in

_CONNECT_SECONDS = 5.0
_STATUS_SECONDS = 2.0

Check = Callable[[], Awaitable[object]]
"""Checks that a service answers; raises ServiceError if it does not."""


@dataclass(frozen=True)
class BrokerAccess:
    """A broker's URL, without credentials in it, its administrator, and the URL of its management API."""

    url: str
    username: str
    password: str = field(repr=False)
    console_url: str


def host_and_port(url: SplitResult, variable: str, default: int) -> tuple[str, int]:
    """Return what a URL points to.

    Raises:
        ServiceError: it has no host, or its port is no number.
    """
    try:
        if url.hostname:
            return url.hostname, url.port or default
    except ValueError:
        pass  # the port
    raise ServiceError(f"{variable} is not a URL with a host, such as scheme://user:password@127.0.0.1:{default}.")


async def check_rabbitmq(url: str, username: str, password: str, console_url: str | None = None) -> BrokerAccess:
    """Log in to a running broker; credentials in the URL have priority. Its management API is not asked.

    Without ``console_url``, the management API is at its usual place: port 15672, or 443 with TLS.

    Raises:
        ServiceError: it does not answer, or refuses the user.
    """
    variable, parts = "LOCALSTAGE_RABBITMQ_URL", urlsplit(url)
    secure = parts.scheme == "amqps"
    host, port = host_and_port(parts, variable, 5671 if secure else 5672)
    if parts.username is not None:
        username, password = unquote(parts.username), unquote(parts.password or "")
    try:
        await asyncio.wait_for(log_in(url, username, password), _CONNECT_SECONDS)
    except LoginRefused:
        raise ServiceError(f"The RabbitMQ of {variable} at {host}:{port} refuses the user {username}.") from None
    except OSError as error:
        raise _unreachable("RabbitMQ", variable, host, port) from error
    path = "" if parts.path in ("", "/") else parts.path
    console = console_url or (f"https://{_join(host, 443)}" if secure else f"http://{_join(host, 15672)}")
    return BrokerAccess(f"{parts.scheme}://{_join(host, port)}{path}", username, password, console)


async def check_redis(url: str) -> str:
    """Ask a running Redis or Valkey for its cluster state; returns its endpoint, with the URL's credentials.

    Raises:
        ServiceError: it does not answer, refuses the password, or is not a cluster.
    """
    variable, parts = "LOCALSTAGE_REDIS_URL", urlsplit(url)
    host, port = host_and_port(parts, variable, 6379)
    credentials = parts.netloc.rpartition("@")[0]
    endpoint = f"{credentials}@{_join(host, port)}" if credentials else _join(host, port)
    try:
        await asyncio.wait_for(redis.command(endpoint, "CLUSTER INFO"), _CONNECT_SECONDS)
    except (OSError, EOFError, TimeoutError) as error:
        raise _unreachable("Redis", variable, host, port) from error
    return endpoint


async def check_http(title: str, variable: str, url: str) -> str:
    """Open a connection to a running emulator; returns its URL.

    Raises:
        ServiceError: nothing listens there.
    """
    parts = urlsplit(url)
    host, port = host_and_port(parts, variable, 443 if parts.scheme == "https" else 80)
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), _CONNECT_SECONDS)
    except (OSError, TimeoutError) as error:
        raise _unreachable(title, variable, host, port) from error
    writer.close()
    return url


async def answers(check: Check) -> bool:
    """Return whether an external service still answers; takes at most about two seconds."""
    try:
        await asyncio.wait_for(check(), _STATUS_SECONDS)
    except (ServiceError, TimeoutError):
        return False
    return True


def _unreachable(title: str, variable: str, host: str, port: int) -> ServiceError:
    return ServiceError(f"{title} does not answer at {host}:{port}, where {variable} points; start it or unset that.")


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
