"""``GET /status``: lanes, depths, breakers and probes, as far as they can be read in time.

All parts are read at once, for ``ASK_SECONDS`` together. A part that cannot be read is ``unknown``, with the reason; a
part that hangs is not read again until it has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import BrokerUnavailable, HeadraceError
from headrace.core.times import Clock
from headrace.operations.breaker_status import BreakerRecord
from headrace.queues.names import PARKED_QUEUE
from headrace.queues.ports import QueueDepth
from headrace.runtime.breaker import CLOSED

ASK_SECONDS = 1.5
KEPT_SECONDS = 2.0
"""An answer is repeated for this long."""
PROBE_LATE_SECONDS = 130
"""A probe is sent every minute and has a minute to be readable; the rest is for the schedule's own delay."""
BROKER_BREAKER = "broker"

Ask = Callable[[], Any]


class Part(TypedDict):
    """The state of one part, and the reason where it is not a good one."""

    state: str
    reason: NotRequired[str]


class Queue(TypedDict, total=False):
    """A persist queue: its depth, or ``unknown`` and why."""

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
    """``ok``, ``open`` or ``unknown``; the breakers that are not closed, or closed lately."""

    environments: NotRequired[list[BreakerRecord]]


class ProbeState(TypedDict):
    """The newest probe of a queue: ``ok``, ``missing`` or ``none yet``."""

    state: str
    newest: str | None
    ageSeconds: int | None


class Probes(Part):
    """The worst state of all queues."""

    queues: NotRequired[dict[str, ProbeState]]


class StatusBody(TypedDict):
    """The status of a stage; ``accepting`` is the lane that new events take: ``main``, ``retry`` or ``unknown``."""

    time: str
    accepting: str
    lanes: Lanes
    breakers: Breakers
    probes: Probes


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part that could not be read, and why; ``away`` if its service is unavailable."""

    reason: str
    away: bool = False

    def to_body(self) -> dict[str, Any]:
        """The part as an answer shows it."""
        return {"state": "away" if self.away else "unknown", "reason": self.reason}


@dataclass(frozen=True)
class StatusProbes:
    """Reads each part. All of them raise a HeadraceError for what they cannot read.

    ``queues`` gives the depth of each persist queue and of the parking queue, or why it has none; ``retry`` and
    ``dead`` the messages in an SQS queue by their state; ``breakers`` what breakers published; ``probes`` the newest
    probe of each queue.
    """

    queues: Callable[[], Mapping[str, QueueDepth | str]]
    retry: Callable[[], Mapping[str, int]]
    dead: Callable[[], Mapping[str, int]]
    breakers: Callable[[], list[BreakerRecord]]
    probes: Callable[[], Mapping[str, str | None]]


class Status:
    """Reads every part, and keeps the answer for ``KEPT_SECONDS``."""

    def __init__(self, asks: StatusProbes, clock: Clock, seconds: float = ASK_SECONDS) -> None:
        self._asks: dict[str, Ask] = vars(asks).copy()
        self._clock = clock
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(len(self._asks), "status")
        self._hanging: dict[str, Future[Any]] = {}
        self._kept: tuple[int, StatusBody] | None = None

    def body(self) -> StatusBody:
        """The answer's body, at most ``KEPT_SECONDS`` old.

        By the wall clock: the monotonic one may stop while Lambda freezes an environment.
        """
        now = self._clock.now()
        if self._kept is None or not 0 <= now - self._kept[0] <= KEPT_SECONDS * times.SECOND:
            parts = self._read()
            self._kept = (now, describe(self._clock.now(), **parts))
        return self._kept[1]

    def _read(self) -> dict[str, Any]:
        # A late answer is not used: it is as old as the question, perhaps from before a freeze.
        self._hanging = {name: asked for name, asked in self._hanging.items() if not asked.done()}
        asked = {name: self._pool.submit(ask) for name, ask in self._asks.items() if name not in self._hanging}
        wait(asked.values(), self._seconds)
        parts: dict[str, Any] = dict.fromkeys(self._hanging, Unknown("an earlier question is not answered yet"))
        for name, future in asked.items():
            if future.done():
                parts[name] = _result(future)
            else:
                self._hanging[name] = future
                parts[name] = Unknown(f"no answer within {self._seconds:g} s")
        return parts


def read_status(status: Status, _request: Request[None, None, None]) -> StatusBody:
    """The status of the stage."""
    return status.body()


def _result(asked: Future[Any]) -> Any:
    try:
        return asked.result()
    except HeadraceError as error:
        return Unknown(error.message, away=isinstance(error, BrokerUnavailable))
    except Exception as error:  # noqa: BLE001 - a failure of one part must not hide the others
        return Unknown(type(error).__name__)


def describe(now: int, queues: Any, retry: Any, dead: Any, breakers: Any, probes: Any) -> StatusBody:
    """The body; each argument is the value of a part, or ``Unknown``."""
    main = _main_lane(queues, breakers)
    lanes = {"main": main, "retry": _sqs(retry), "dead": _sqs(dead), "parked": _parked(queues)}
    body = {
        "time": times.iso(now),
        "accepting": _accepting(main["state"], lanes["retry"]["state"]),
        "lanes": lanes,
        "breakers": _breakers(breakers),
        "probes": _probes(now, probes),
    }
    return cast(StatusBody, body)


def _accepting(main: str, retry: str) -> str:
    """The lane that new events take now."""
    if main in ("ok", "degraded"):
        return "main"
    return "retry" if main == "away" and retry != "unknown" else "unknown"


def _main_lane(queues: Any, breakers: Any) -> dict[str, Any]:
    if isinstance(queues, Unknown):
        return queues.to_body()
    persist = {name: depth for name, depth in queues.items() if name != PARKED_QUEUE}
    reasons = [f"{name}: {problem}" for name, depth in persist.items() if (problem := _problem(depth))]
    if not isinstance(breakers, Unknown):
        count = sum(each.breaker == BROKER_BREAKER and each.state != CLOSED for each in breakers)
        reasons += [f"the broker's breaker is not closed in {count} environments"] if count else []
    body: dict[str, Any] = {"state": "degraded" if reasons else "ok"}
    if reasons:
        body["reason"] = "; ".join(reasons)
    body["queues"] = {name: _depth(depth) for name, depth in persist.items()}
    return body


def _problem(depth: QueueDepth | str) -> str | None:
    if isinstance(depth, str):
        return depth
    return None if depth.consumers else "it has no consumer"


def _depth(depth: QueueDepth | str) -> dict[str, Any]:
    return Unknown(depth).to_body() if isinstance(depth, str) else asdict(depth)


def _parked(queues: Any) -> dict[str, Any]:
    depth = queues if isinstance(queues, Unknown) else queues[PARKED_QUEUE]
    if isinstance(depth, QueueDepth):
        return {"state": "holding" if depth.ready else "empty", "ready": depth.ready}
    return Unknown(depth if isinstance(depth, str) else depth.reason).to_body()


def _sqs(counts: Any) -> dict[str, Any]:
    if isinstance(counts, Unknown):
        return counts.to_body()
    return {"state": "holding" if any(counts.values()) else "empty", **counts}


def _breakers(records: Any) -> dict[str, Any]:
    if isinstance(records, Unknown):
        return records.to_body()
    state = "ok" if all(each.state == CLOSED for each in records) else "open"
    return {"state": state, "environments": [asdict(each) for each in records]}


def _probes(now: int, newest: Any) -> dict[str, Any]:
    if isinstance(newest, Unknown):
        return newest.to_body()
    queues: dict[str, dict[str, Any]] = {}
    for name, minute in newest.items():
        age = None if minute is None else (now - times.micros_of(minute)) // times.SECOND
        state = "none yet" if age is None else "ok" if age <= PROBE_LATE_SECONDS else "missing"
        queues[name] = {"state": state, "newest": minute, "ageSeconds": age}
    states = {each["state"] for each in queues.values()}
    worst = next((state for state in ("missing", "none yet") if state in states), "ok")
    return {"state": worst, "queues": queues}
