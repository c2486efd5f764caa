"""Declares the broker's topology for CloudFormation's custom resource, a schedule or a direct call.

Every request of a custom resource is answered at its ResponseURL. A stack without an answer hangs for an hour, so a
failure is answered too, and Delete always succeeds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.request import Request, urlopen

from headrace.core.errors import BrokerUnavailable, ConfigurationError, SecretsUnavailable
from headrace.core.urls import is_https_or_loopback
from headrace.queues.rabbitmq.topology import Report
from headrace.runtime.observability import Meter, logger

PHYSICAL_ID = "headrace-topology"
STARTING_SECONDS = 60.0
"""How long to wait for a broker that is still starting when a stack is deployed."""
MOVING_SECONDS = 30.0
"""How long a run moves messages out of queues that no stream has any more, of all brokers; the next one goes on."""
ANSWER_SECONDS = 20.0
TEXT_LIMIT = 1000
"""Bytes of the reason and of each value in Data: CloudFormation refuses an answer of more than 4096 bytes."""


def declare_all(
    declare_queues: Callable[[float], Report],
    make_users: Callable[[float], list[str]],
    empty_queues: Callable[[], dict[str, int]],
    seconds: float,
) -> Report:
    """Declare the queues of a broker, make its users, and empty former queues.

    A broker that still starts is waited for, at most ``seconds``. Users that cannot be made are ``missing`` in the
    report, which still has the depths of the queues. Former queues that cannot be emptied are only logged: the next run
    tries again.
    """
    deadline = time.monotonic() + seconds
    report = declare_queues(seconds)
    try:
        report.users = make_users(deadline - time.monotonic())
    except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
        report.missing.append(f"the users of publishers and mappings: {error.message}")
    else:
        try:
            report.moved = empty_queues()
        except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
            logger.warning("queues that no stream has any more are not emptied", extra={"reason": error.message})
    return report


def declare_each(brokers: Sequence[Callable[[float], Report]], seconds: float) -> Report:
    """Declare the topology of each broker, and return one report; they share the ``seconds``.

    With several brokers, one that is unavailable is ``missing``, so that the others are still repaired.
    """
    deadline = time.monotonic() + seconds
    whole, parked = Report(), []
    for number, declare in enumerate(brokers, 1):
        try:
            report = declare(deadline - time.monotonic())
        except (BrokerUnavailable, SecretsUnavailable) as error:
            if len(brokers) == 1:
                raise
            report = Report(missing=[error.message])
        which = f"broker {number}: " if len(brokers) > 1 else ""
        for name in ("declared", "differs", "missing", "unread", "users"):
            getattr(whole, name).extend(f"{which}{each}" for each in getattr(report, name))
        whole.moved |= {f"{which}{queue}": count for queue, count in report.moved.items()}
        parked.append(report.parked)
    known = [each for each in parked if each is not None]
    # Those of an unavailable broker are unknown: 0 would say that there are none.
    whole.parked = sum(known) if any(known) or len(known) == len(brokers) else None
    return whole


def declare_for(event: Mapping[str, Any], declare: Callable[[float], Report], invocation: str = "") -> dict[str, Any]:
    """Declare the topology; return what was declared, what exists with other properties, and what users were made.

    ``declare`` takes the seconds to wait for the broker; ``invocation`` is Lambda's request id, for the log. For the
    request of a custom resource, the return value is the answer that was sent to CloudFormation.

    Raises:
        headrace.core.errors.HeadraceError: the broker is unavailable, or refuses a required queue. A custom resource
            gets a FAILED answer instead.
    """
    logger.set_correlation_id(invocation or None)
    if "RequestType" in event and "ResponseURL" in event:
        return answer(event, lambda: _declare(declare, STARTING_SECONDS, deploying=True))
    return dict(_declare(declare, 0.0, deploying=False))


def _declare(declare: Callable[[float], Report], seconds: float, *, deploying: bool) -> dict[str, str]:
    report = declare(seconds)
    for difference in report.differs:
        logger.warning(difference)
    for change in report.users:  # on the schedule, a secret or a user was changed since
        (logger.info if deploying else logger.warning)(change)
    for queue, count in report.moved.items():
        logger.warning(
            "messages of a queue that no stream has any more are moved", extra={"queue": queue, "count": count}
        )
    meter = Meter()
    if report.parked is not None:
        meter.measure("ParkedMessages", report.parked)
    if not deploying:  # while a stack is deployed, its mappings may not exist yet
        meter.measure("UnreadQueues", len(report.unread))
        if report.unread:
            logger.warning("queues without a consumer", extra={"queues": report.unread})
    meter.flush()
    if report.missing:
        raise ConfigurationError("; ".join(report.missing))
    return {
        "declared": ", ".join(report.declared),
        "differs": "; ".join(report.differs),
        "users": "; ".join(report.users),
    }


def answer(event: Mapping[str, Any], make: Callable[[], Mapping[str, str]]) -> dict[str, Any]:
    """Run ``make`` for Create and Update, and answer the request with its result or error; returns the answer.

    Raises:
        ValueError: the ResponseURL is neither https nor on this machine.
        OSError: the answer could not be delivered.
    """
    status, reason, data = "SUCCESS", "done", {}
    if event["RequestType"] != "Delete":
        try:
            data = {name: _shortened(value) for name, value in make().items()}
        except Exception as error:  # noqa: BLE001 - it is the answer, which the stack shows
            status, reason = "FAILED", _shortened(f"{type(error).__name__}: {error}")
    body = {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": event.get("PhysicalResourceId") or PHYSICAL_ID,
        "StackId": event.get("StackId", ""),
        "RequestId": event.get("RequestId", ""),
        "LogicalResourceId": event.get("LogicalResourceId", ""),
        "Data": data,
    }
    _put(str(event["ResponseURL"]), json.dumps(body, ensure_ascii=False).encode())
    return body


def _shortened(text: str) -> str:
    return text.encode("utf-8", "replace")[:TEXT_LIMIT].decode("utf-8", "ignore")


def _put(url: str, body: bytes) -> None:
    if not is_https_or_loopback(url):
        raise ValueError("the ResponseURL must be https, or http on this machine")
    # S3 signs the URL for an empty content type.
    request = Request(url, data=body, method="PUT", headers={"content-type": ""})  # noqa: S310
    with urlopen(request, timeout=ANSWER_SECONDS):  # noqa: S310
        pass
