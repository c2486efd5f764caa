"""Makes AWS clients with short timeouts and few retries.

They are botocore's: boto3 would give the same clients for a longer cold start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import botocore
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from headrace.core.errors import ConfigurationError

AWS_ERRORS = (BotoCoreError, ClientError)
"""Every exception that a client raises for what the service or the network did."""

THROTTLING_CODES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "Throttling",
        "ThrottledException",
        "TooManyRequestsException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "LimitExceededException",
        "AWS.SimpleQueueService.ThrottlingException",
        "KmsThrottled",
    }
)


def client(service: str, *, timeout: float = 2.0, attempts: int = 2, connections: int = 10) -> Any:
    """A client of ``service`` that gives up after ``attempts`` tries of ``timeout`` seconds each.

    Parameters are not validated: validation would cost more CPU than the call.

    Raises:
        ConfigurationError: no region is set.
    """
    config = Config(
        connect_timeout=1.0,
        read_timeout=timeout,
        retries={"mode": "standard", "total_max_attempts": attempts},
        max_pool_connections=connections,
        parameter_validation=False,
        tcp_keepalive=True,
        # Otherwise botocore builds one for every call, which takes a share of its CPU.
        user_agent=f"headrace botocore/{botocore.__version__}",
    )
    try:
        return _session().create_client(service, config=config)
    except NoRegionError:
        raise ConfigurationError("the variable AWS_DEFAULT_REGION is missing; it must be a region's name") from None


@functools.cache
def _session() -> botocore.session.Session:
    return botocore.session.get_session()


def signing() -> tuple[Callable[[], Any], str]:
    """What signs requests of this process: a function that returns the current credentials, and the region.

    Raises:
        NoCredentialsError: there are none.
    """
    session = _session()
    # Resolved once; botocore renews a role's temporary credentials.
    known = session.get_credentials()
    if known is None:
        raise NoCredentialsError
    return known.get_frozen_credentials, str(session.get_config_variable("region"))


def error_code(error: BaseException) -> str:
    """The service's code, or the exception's name when the service did not answer."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "Unknown"))
    return type(error).__name__


def is_throttling(error: BaseException) -> bool:
    """Whether the service throttled the call."""
    return isinstance(error, ClientError) and error_code(error) in THROTTLING_CODES
