"""One event of API Gateway while it is answered: what is counted, the headers of its answer, and its errors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.api.rates.rate_limiter import Kind, RateLimiter
from headrace.api.responses import REQUEST_ID
from headrace.core.caller import Caller
from headrace.core.errors import ConfigurationError, HeadraceError, RateLimited, mapping_of
from headrace.runtime.observability import Meter, correlate, report, report_unexpected


@dataclass(slots=True)
class Call:
    """One event, with what is counted and the headers that every answer to it has.

    ``left`` returns the headers that say what the caller may do now.
    """

    key: str
    event: Mapping[str, Any]
    context: Any
    meter: Meter = field(default_factory=Meter)
    headers: dict[str, str] = field(default_factory=lambda: {REQUEST_ID: ""})
    left: Callable[[], dict[str, str]] = dict

    def counted(self, limiter: RateLimiter | None, caller: Caller, kind: Kind) -> RateLimited | None:
        """Count this request of ``caller``, and return why it is refused."""
        if limiter is None:
            return None
        self.left = functools.partial(limiter.headers, caller, kind)
        _, refusal = limiter.admit(caller, 1, self.meter, kind)
        return refusal

    def answered(self, work: Callable[[], dict[str, Any]], refuse: Callable[[Exception], Any]) -> dict[str, Any]:
        """What ``work`` returns, or ``refuse`` for an error that it raises."""
        try:
            self.headers[REQUEST_ID] = correlate(self.event)
            return work()
        except HeadraceError as error:
            _log(self.key, error, self.meter)
            found = refuse(error)
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error: a client must not wait
            report_unexpected(error)
            found = refuse(error)
        finally:
            self.meter.flush()
        return dict(found)


def _log(key: str, error: HeadraceError, meter: Meter) -> None:
    """Log an error that is the platform's own fault, and count a wrong setting as ``Unexpected``."""
    if isinstance(error, ConfigurationError):
        meter.count("Unexpected")
    if mapping_of(error).status >= 500:
        code = getattr(error.__cause__, "code", None)  # of an answer of AWS
        report(f"{key} {type(error).__name__}", f"{key} failed: {error.message}", level="error", code=code)
