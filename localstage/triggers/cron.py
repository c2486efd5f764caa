"""When an EventBridge schedule fires: ``rate(…)`` and ``cron(…)``, in UTC."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Protocol

_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
_WEEKDAYS = {name: number for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), 1)}
_RATE = re.compile(r"rate\((\d+) (minute|hour|day)(s?)\)")
_CRON = re.compile(r"cron\(([^()]*)\)")
_LAST_YEAR = 2199


class Timetable(Protocol):
    """A schedule that computes its next time."""

    def next_after(self, time: datetime) -> datetime | None:
        """Return the first time after ``time`` (aware, UTC), or ``None`` after the last one."""
        ...


def parse_expression(expression: str) -> Timetable:
    """Return the timetable of ``rate(5 minutes)`` or ``cron(0 12 * * ? *)``.

    Cron's wildcards ``L``, ``W`` and ``#`` are not supported.

    Raises:
        ValueError: the expression is invalid; the message names the mistake.
    """
    if rate := _RATE.fullmatch(expression):
        return _parse_rate(int(rate[1]), rate[2], plural=bool(rate[3]))
    if cron := _CRON.fullmatch(expression):
        return Cron(cron[1])
    raise ValueError("expected rate(5 minutes) or cron(0 12 * * ? *)")


def _parse_rate(value: int, unit: str, *, plural: bool) -> Rate:
    if value < 1:
        raise ValueError("a rate is at least 1")
    if plural != (value > 1):
        raise ValueError(f"EventBridge needs rate({value} {unit}{'s' if value > 1 else ''})")
    return Rate(value * _UNITS[unit])


class Rate:
    """A fixed number of seconds after the given time."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def next_after(self, time: datetime) -> datetime | None:
        """Return ``time`` plus the interval."""
        return time + timedelta(seconds=self.seconds)


class Cron:
    """EventBridge's six fields: minutes, hours, day of month, month, day of week (1 is Sunday), year."""

    def __init__(self, fields: str) -> None:
        parts = fields.upper().split()
        if len(parts) != 6:
            raise ValueError(f"cron has six fields, not {len(parts)}")
        if (parts[2] == "?") == (parts[4] == "?"):
            raise ValueError("exactly one of day of month and day of week must be ?")
        self._minutes = sorted(_parse_field("minutes", parts[0], 0, 59))
        self._hours = sorted(_parse_field("hours", parts[1], 0, 23))
        self._days = _parse_field("day of month", parts[2], 1, 31)
        self._months = sorted(_parse_field("month", parts[3], 1, 12, _MONTHS))
        self._weekdays = _parse_field("day of week", parts[4], 1, 7, _WEEKDAYS)
        self._years = sorted(_parse_field("year", parts[5], 1970, _LAST_YEAR))

    def next_after(self, time: datetime) -> datetime | None:
        """Return the next matching minute."""
        earliest = time.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        for day in self._days_from(earliest):
            for hour in self._hours:
                for minute in self._minutes:
                    at = day.replace(hour=hour, minute=minute)
                    if at >= earliest:
                        return at
        return None

    def _days_from(self, earliest: datetime) -> Iterator[datetime]:
        first = earliest.replace(hour=0, minute=0)
        for year in self._years:
            for month in self._months:
                if (year, month) < (first.year, first.month):
                    continue
                for number in range(1, calendar.monthrange(year, month)[1] + 1):
                    day = datetime(year, month, number, tzinfo=UTC)
                    if day >= first and number in self._days and day.isoweekday() % 7 + 1 in self._weekdays:
                        yield day


def _parse_field(name: str, text: str, low: int, high: int, names: dict[str, int] | None = None) -> set[int]:
    if text == "?" and name.startswith("day"):
        return set(range(low, high + 1))
    values: set[int] = set()
    for part in text.split(","):
        values |= _parse_part(name, part, low, high, names or {})
    return values


def _parse_part(name: str, part: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    span, slash, step = part.partition("/")
    begin, dash, end = span.partition("-")
    try:
        first = low if begin == "*" else names.get(begin) or int(begin)
        # A step without a range counts from its start to the end of the field.
        last = high if begin == "*" or (slash and not dash) else first
        if dash:
            last = names.get(end) or int(end)
        stride = int(step) if slash else 1
    except ValueError:
        raise ValueError(f"{name}: cannot read {part}") from None
    if (begin == "*" and dash) or stride < 1 or not (low <= first <= high and low <= last <= high):
        raise ValueError(f"{name}: {part} is not within {low}-{high}")
    size = high - low + 1
    # A range may cross the end of its field, as FRI-MON does.
    end_of_range = last if first <= last else last + size
    return {low + (value - low) % size for value in range(first, end_of_range + 1, stride)}
