"""Logs in to a broker, to check that it runs and accepts a password."""

from __future__ import annotations

import asyncio
import logging

import pika
from pika.exceptions import AMQPError, ProbableAccessDeniedError, ProbableAuthenticationError

SECONDS = 2.0

# pika logs every step of a refused connection at several levels; callers log it once, in one line.
logging.getLogger("pika").setLevel(logging.CRITICAL)


class LoginRefused(Exception):
    """The broker refuses this user and password."""


async def log_in(url: str, username: str, password: str) -> str:
    """Log in to the virtual host of ``url`` and disconnect; returns the broker's version.

    Raises:
        LoginRefused: the broker refuses the user or the password.
        OSError: no server listens there, or it is not (or not yet) a broker.
    """
    parameters = pika.URLParameters(url)
    parameters.credentials = pika.PlainCredentials(username, password)
    parameters.connection_attempts = 1
    parameters.socket_timeout = parameters.stack_timeout = parameters.blocked_connection_timeout = SECONDS
    try:
        return await asyncio.to_thread(_version, parameters)
    except (ProbableAuthenticationError, ProbableAccessDeniedError):
        raise LoginRefused from None
    except AMQPError as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def _version(parameters: pika.URLParameters) -> str:
    with pika.BlockingConnection(parameters) as connection:
        return str(connection._impl.server_properties["version"])  # type: ignore[attr-defined]
