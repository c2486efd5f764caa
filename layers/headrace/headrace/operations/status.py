"""What an operator sees at ``GET /status``: lanes, depths, breakers and probes, as far as they can be learned in time.

Every part is asked at once, for ``ASK_SECONDS`` together. What cannot be learned is said to be unknown, with the
reason, and never guessed; a part that hangs is not asked again until it has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any

from headrace.core import times
from headrace.core.errors import BrokerUnavailable, HeadraceError
from headrace.core.times import Clock
from headrace.operations.breaker_status import BreakerRecord
from headrace.queues.names import PARKED_QUEUE
from headrace.queues.ports import QueueDepth
from headrace.runtime.breaker import CLOSED

ASK_SECONDS = 1.5
KEPT_SECONDS = 2.0
"""An answer is given again for this long."""
PROBE_LATE_SECONDS = 130
"""A probe is sent every minute and has a minute to be readable; the rest is for the schedule's own delay."""
BROKER_BREAKER = "broker"

Ask = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Unknown:
    """What could not be learned, and why; ``away`` if that is because nobody is there."""

    reason: str
    away: bool = False

    def to_body(self) -> dict[str, Any]:
        """As it stands in an answer."""
        return {"state": "away" if self.away else "unknown", "reason": self.reason}


@dataclass(frozen=True)
class StatusProbes:
    """How each part is asked. All of them raise HeadraceErrors for what they cannot learn.

    ``queues`` gives the depth of each persist queue and of parked, or why it has none; ``retry`` and ``dead`` the
    messages in an SQS queue by their state; ``breakers`` the board; ``probes`` the newest probe of each queue.
    """

    queues: Callable[[], Mapping[str, QueueDepth | str]]
    retry: Callable[[], Mapping[str, int]]
    dead: Callable[[], Mapping[str, int]]
    breakers: Callable[[], list[BreakerRecord]]
    probes: Callable[[], Mapping[str, str | None]]


class Status:
    """Asks every part, and keeps the answer for ``KEPT_SECONDS``."""

    def __init__(self, asks: StatusProbes, clock: Clock, seconds: float = ASK_SECONDS) -> None:
        self._asks: dict[str, Ask] = vars(asks).copy()
        self._clock = clock
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(len(self._asks), "status")
        self._hanging: dict[str, Future[Any]] = {}
        self._kept: tuple[int, dict[str, Any]] | None = None

    def body(self) -> dict[str, Any]:
        """The answer's body, at most ``KEPT_SECONDS`` old.

        By the wall clock: whether the other one runs on while an environment is frozen, nobody promises.
        """
        now = self._clock.now()
        if self._kept is None or not 0 <= now - self._kept[0] <= KEPT_SECONDS * times.SECOND:
            learned = self._learn()
            self._kept = (now, describe(self._clock.now(), **learned))
        return self._kept[1]

    def _learn(self) -> dict[str, Any]:
        # What a question that hung brings in the end is as old as the question, perhaps from before a freeze: not used.
        self._hanging = {name: asked for name, asked in self._hanging.items() if not asked.done()}
        asked = {name: self._pool.submit(ask) for name, ask in self._asks.items() if name not in self._hanging}
        wait(asked.values(), self._seconds)
        learned: dict[str, Any] = dict.fromkeys(self._hanging, Unknown("an earlier question is not answered yet"))
        for name, future in asked.items():
            if future.done():
                learned[name] = _result(future)
            else:
                self._hanging[name] = future
                learned[name] = Unknown(f"no answer within {self._seconds:g} s")
        return learned


def _result(asked: Future[Any]) -> Any:
    try:
        return asked.result()
    except HeadraceError as error:
        return Unknown(error.message, away=isinstance(error, BrokerUnavailable))
    except Exception as error:  # noqa: BLE001 - one part's trouble must not hide the others
        return Unknown(type(error).__name__)


def describe(now: int, queues: Any, retry: Any, dead: Any, breakers: Any, probes: Any) -> dict[str, Any]:
    """The body: each argument is what its part answered, or ``Unknown``."""
    main = _main_lane(queues, breakers)
    lanes = {"main": main, "retry": _sqs(retry), "dead": _sqs(dead), "parked": _parked(queues)}
    return {
        "time": times.iso(now),
        "accepting": _accepting(main["state"], lanes["retry"]["state"]),
        "lanes": lanes,
        "breakers": _breakers(breakers),
        "probes": _probes(now, probes),
    }


def _accepting(main: str, retry: str) -> str:
    """The lane that new events take now."""
    if main in ("ok", "degraded"):
        return "main"
    return "retry" if main == "away" and retry != "unknown" else "unknown"


def _main_lane(queues: Any, breakers: Any) -> dict[str, Any]:
    if isinstance(queues, Unknown):
        return queues.to_body()
    persist = {name: depth for name, depth in queues.items() if name != PARKED_QUEUE}
    reasons = [f"{name}: {trouble}" for name, depth in persist.items() if (trouble := _trouble(depth))]
    if not isinstance(breakers, Unknown):
        count = sum(each.breaker == BROKER_BREAKER and each.state != CLOSED for each in breakers)
        reasons += [f"the broker's breaker is not closed in {count} environments"] if count else []
    body: dict[str, Any] = {"state": "degraded" if reasons else "ok"}
    if reasons:
        body["reason"] = "; ".join(reasons)
    body["queues"] = {name: _depth(depth) for name, depth in persist.items()}
    return body


def _trouble(depth: QueueDepth | str) -> str | None:
    if isinstance(depth, str):
        return depth
    return None if depth.consumers else "nobody consumes it"


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
