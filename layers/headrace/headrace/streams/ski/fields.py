"""The numbers in a ride and in a path: their bounds, and how a wrong one is named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from headrace.core.errors import FieldError, InvalidRequest, echo

VERTICAL_PER_LIFT = 10

_DIGITS = re.compile(r"-?[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Whole numbers from ``low`` to ``high``; texts of digits stand for their number, as they do in a path."""

    low: int
    high: int

    @property
    def form(self) -> str:
        """What is accepted, in words."""
        return f"a whole number from {self.low} to {self.high}"

    def check(self, value: object) -> int:
        """``value`` as a number within the bounds.

        Raises:
            ValueError: one phrase that says what is wrong.
        """
        number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError("is not a whole number")
        if not self.low <= number <= self.high:
            raise ValueError("is out of range")
        return number

    def validator(self) -> BeforeValidator:
        """The check, for a field of an event model."""
        return BeforeValidator(self._validate)

    def _validate(self, value: object) -> int:
        try:
            return self.check(value)
        except ValueError as error:
            raise PydanticCustomError("number", str(error)) from None


RESORT = Bounds(1, 999_999_999)
SEASON = Bounds(1900, 2199)
DAY = Bounds(1, 366)
SKIER = Bounds(1, 999_999_999_999)
TIME = Bounds(0, 1439)
LIFT = Bounds(1, 1000)

PATH = {"resortID": RESORT, "seasonID": SEASON, "dayID": DAY, "skierID": SKIER, "liftID": LIFT}


def numbers(given: Mapping[str, str] | None, *names: str) -> tuple[int, ...]:
    """The numbers ``names`` of a path.

    Raises:
        InvalidRequest: names every one that is wrong, what came and what is allowed.
    """
    found, wrong = [], []
    for name in names:
        text = (given or {}).get(name, "")
        try:
            found.append(PATH[name].check(text))
        except ValueError as error:
            wrong.append(FieldError(name, str(error), echo(text), PATH[name].form))
    if wrong:
        raise InvalidRequest(f"{wrong[0].field} {wrong[0].message}", details=wrong)
    return tuple(found)
