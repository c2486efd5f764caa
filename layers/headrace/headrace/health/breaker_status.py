"""Publishes the states of circuit breakers to the cache, and reads those of all environments for ``GET /status``.

A record is written when a breaker changes its state, and after each probe that failed. Best effort: a background
thread writes, and a request waits at most 50 ms for it (200 ms for the first record). A failed write is logged, and
fails no request.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass

from headrace.core import times
from headrace.core.errors import HeadraceError
from headrace.core.fields import CanonicalTime
from headrace.core.times import Clock
from headrace.runtime.breaker import CLOSED, OPEN, State
from headrace.runtime.observability import Meter, report
from headrace.runtime.settings import EnvironmentSettings
from headrace.storage.redis import Cache

KEY = "breakers"
"""A hash with a field for each breaker of each environment."""
FRESH_SECONDS = 60
"""How long a record of an open breaker is shown. While it is used, a probe renews it every 10 s."""
KEPT_SECONDS = 900
"""How long the hash is kept without a change."""
WAIT_SECONDS = 0.05
FIRST_WAIT_SECONDS = 0.2
"""For the first record of an environment, which imports the cache's library. Importing it earlier would slow down every
cold start, and only environments with a failing dependency need it."""

Connect = Callable[[], Cache]
"""Makes a new connection for each call: calls are minutes apart, and a freeze would break one that is kept."""


@dataclass(frozen=True, slots=True)
class BreakerRecord:
    """One breaker of one environment: in ``state`` since ``since``, as of ``at`` (canonical times).

    ``environment`` is the name of the log stream.
    """

    breaker: str
    function: str
    environment: str
    state: State
    since: CanonicalTime
    at: CanonicalTime


class BreakerStatus:
    """Writes states of breakers to the cache: :meth:`seen` is a breaker's ``on_state``."""

    def __init__(self, environment: EnvironmentSettings, connect: Connect, clock: Clock) -> None:
        self._function = environment.aws_lambda_function_name
        self._environment = environment.aws_lambda_log_stream_name or uuid.uuid4().hex
        self._connect = connect
        self._clock = clock
        self._last: dict[str, BreakerRecord] = {}
        self._pool = ThreadPoolExecutor(1, "breaker-status")

    def seen(self, breaker: str, state: State) -> None:
        """Write the state of ``breaker``, in which it may have been before."""
        at, last = times.iso(self._clock.now()), self._last.get(breaker)
        is_change = last is None or last.state != state
        since = at if last is None or is_change else last.since
        seconds = WAIT_SECONDS if self._last else FIRST_WAIT_SECONDS
        record = BreakerRecord(breaker, self._function, self._environment, state, since, at)
        self._last[breaker] = record
        writing = self._pool.submit(self._write, record)
        if is_change:
            report(f"breaker {breaker} {state}", f"the breaker of the {breaker} is {state}")
            if state == OPEN:
                meter = Meter()
                meter.count("BreakerOpened", breaker=breaker)
                meter.flush()
        # Lambda freezes the environment after the response: without this wait the thread might not write in time.
        wait([writing], seconds)

    def _write(self, record: BreakerRecord) -> None:
        try:
            field = f"{record.environment} {record.breaker}"
            commands = [("HSET", KEY, field, json.dumps(asdict(record))), ("EXPIRE", KEY, KEPT_SECONDS)]
            self._connect().run(commands)
        except HeadraceError as error:
            report("breaker board", f"the state of a breaker is not written to the cache: {error.message}")


def read_breaker_status(connect: Connect, clock: Clock) -> list[BreakerRecord]:
    """The breakers that are in use and not closed, then those that closed in the last 15 minutes.

    Environments whose breakers never opened have no records; those of an idle environment are dropped after a minute.

    Raises:
        headrace.core.errors.CacheUnavailable: the cache did not answer.
    """
    cache = connect()
    (fields,) = cache.run([("HGETALL", KEY)])
    records = {field: BreakerRecord(**json.loads(value)) for field, value in fields.items()}
    now = clock.now()
    fresh, oldest = (times.iso(now - seconds * times.SECOND) for seconds in (FRESH_SECONDS, KEPT_SECONDS))
    gone = [field for field, record in records.items() if record.at < (oldest if record.state == CLOSED else fresh)]
    if gone:
        cache.run([("HDEL", KEY, *gone)])
    kept = [record for field, record in records.items() if field not in gone]
    return sorted(kept, key=lambda record: (record.state == CLOSED, record.breaker, record.environment))
