"""``GET /status``: lanes, queue depths, breakers and probes, as far as they can be read in time.

The parts are the depth of the ``queues`` of all brokers or why it is not known, the counts of the ``retry`` and
``dead`` lanes by state, the published states of ``breakers``, and the newest of the ``probes`` by queue. A part that
cannot be read is ``unknown``, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from headrace.api.router import Request
from headrace.core import times
from headrace.core.fields import CanonicalTime
from headrace.health.breaker_status import BreakerRecord
from headrace.health.parts import Parts, Unknown
from headrace.queues.brokers import LOST_BROKER
from headrace.queues.names import PARKED_QUEUE
from headrace.queues.ports import QueueDepth
from headrace.runtime.breaker import CLOSED

ASK_SECONDS = 1.5
KEPT_SECONDS = 2.0
"""How long an answer is repeated."""
NO_PROBES = Unknown("this stage sends no probes")
PROBE_LATE_SECONDS = 130
"""A probe is sent every minute and has a minute to be readable; the rest is for delays of the schedule."""
BROKER_BREAKER = "broker"


class Part(TypedDict):
    """The state of one part, and the reason if the state is not a good one."""

    state: str
    reason: NotRequired[str]


class Queue(TypedDict, total=False):
    """A persist queue: its depth, or ``unknown`` with the reason."""

    ready: int
    consumers: int
    state: str
    reason: str


class MainLane(Part):
    """RabbitMQ: ``ok``, ``degraded``, ``away`` or ``unknown``."""

    queues: NotRequired[dict[str, Queue]]


class SqsLane(Part):
    """An SQS queue: ``empty``, ``holding`` or ``unknown``."""

    waiting: NotRequired[int]
    inFlight: NotRequired[int]
    delayed: NotRequired[int]


class ParkedLane(Part):
    """The parking queue: ``empty``, ``holding`` or ``unknown``."""

    ready: NotRequired[int]


class Lanes(TypedDict):
    """The lanes by name."""

    main: MainLane
    retry: SqsLane
    dead: SqsLane
    parked: ParkedLane


class Breakers(Part):
    """``ok``, ``open`` or ``unknown``; the breakers that are not closed, or closed in the last 15 minutes."""

    environments: NotRequired[list[BreakerRecord]]


class ProbeState(TypedDict):
    """The newest probe of a queue: ``ok``, ``missing`` or ``none yet``."""

    state: str
    newest: CanonicalTime | None
    ageSeconds: int | None


class Probes(Part):
    """The worst state of all queues."""

    queues: NotRequired[dict[str, ProbeState]]


class StatusBody(TypedDict):
    """The status of a stage; ``accepting`` is the lane that new events take: ``main``, ``retry`` or ``unknown``."""

    time: CanonicalTime
    accepting: str
    lanes: Lanes
    breakers: Breakers
    probes: Probes


def read_status(parts: Parts, _request: Request[None, None, None]) -> StatusBody:
    """The status of the stage."""
    read_at, found = parts.read()
    return describe(read_at, **found)


def describe(now: int, queues: Any, retry: Any, dead: Any, breakers: Any, probes: Any = NO_PROBES) -> StatusBody:
    """The body; each argument is the value of a part, or ``Unknown``."""
    main = _known(queues, lambda known: _main_lane(known, breakers))
    retry_lane = _known(retry, _sqs)
    body = {
        "time": times.iso(now),
        "accepting": _accepting(main["state"], retry_lane["state"]),
        "lanes": {
            "main": main,
            "retry": retry_lane,
            "dead": _known(dead, _sqs),
            "parked": _parked(queues),
        },
        "breakers": _known(breakers, _breakers),
        "probes": _known(probes, lambda newest: _probes(now, newest)),
    }
    return cast(StatusBody, body)


def _known(part: Any, shown: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return part.to_body() if isinstance(part, Unknown) else shown(part)


def _accepting(main: str, retry: str) -> str:
    """The lane that new events take now."""
    if main in ("ok", "degraded"):
        return "main"
    return "retry" if main == "away" and retry != "unknown" else "unknown"


def _main_lane(queues: Mapping[str, QueueDepth | str], breakers: Any) -> dict[str, Any]:
    persist = {name: depth for name, depth in queues.items() if not name.startswith(PARKED_QUEUE)}
    reasons = []
    for name, depth in persist.items():
        if isinstance(depth, str):
            reasons.append(f"{name}: {depth}")
        elif not depth.consumers:
            reasons.append(f"{name}: it has no consumer")
    if not isinstance(breakers, Unknown):
        count = sum(each.breaker == BROKER_BREAKER and each.state != CLOSED for each in breakers)
        reasons += [f"the broker's breaker is not closed in {count} environments"] if count else []
    body: dict[str, Any] = {"state": "degraded" if reasons else "ok"}
    if reasons:
        body["reason"] = "; ".join(reasons)
    body["queues"] = {name: _depth(depth) for name, depth in persist.items()}
    return body


def _depth(depth: QueueDepth | str) -> dict[str, Any]:
    return Unknown(depth).to_body() if isinstance(depth, str) else asdict(depth)


def _parked(queues: Any) -> dict[str, Any]:
    if isinstance(queues, Unknown):
        return Unknown(queues.reason).to_body()
    # Of a broker that is away, the parking queue is not known either.
    depths = [depth for name, depth in queues.items() if name.startswith((PARKED_QUEUE, LOST_BROKER))]
    unknown = next((depth for depth in depths if isinstance(depth, str)), None)
    if unknown is not None:
        return Unknown(unknown).to_body()
    ready = sum(depth.ready for depth in depths)
    return {"state": "holding" if ready else "empty", "ready": ready}


def _sqs(counts: Mapping[str, int]) -> dict[str, Any]:
    return {"state": "holding" if any(counts.values()) else "empty", **counts}


def _breakers(records: Sequence[BreakerRecord]) -> dict[str, Any]:
    state = "ok" if all(each.state == CLOSED for each in records) else "open"
    return {"state": state, "environments": [asdict(each) for each in records]}


def _probes(now: int, newest: Mapping[str, str | None]) -> dict[str, Any]:
    queues: dict[str, dict[str, Any]] = {}
    for name, minute in newest.items():
        age = None if minute is None else (now - times.micros_of(minute)) // times.SECOND
        state = "none yet" if age is None else "ok" if age <= PROBE_LATE_SECONDS else "missing"
        queues[name] = {"state": state, "newest": minute, "ageSeconds": age}
    states = {each["state"] for each in queues.values()}
    worst = next((state for state in ("missing", "none yet") if state in states), "ok")
    return {"state": worst, "queues": queues}
