"""Field types for the numbers of a ride and of a path, with their bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

VERTICAL_PER_LIFT = 10
_DIGITS = re.compile(r"-?[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Whole numbers from ``low`` to ``high``, as numbers or as texts of digits, such as in a path."""

    low: int
    high: int

    @property
    def form(self) -> str:
        """The accepted values, in words."""
        return f"a whole number from {self.low} to {self.high}"

    def check(self, value: object) -> int:
        """``value`` as a number within the bounds.

        Raises:
            PydanticCustomError: a phrase that says what is wrong.
        """
        number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
        if not isinstance(number, int) or isinstance(number, bool):
            raise PydanticCustomError("number", "is not a whole number")
        if not self.low <= number <= self.high:
            raise PydanticCustomError("number", "is out of range")
        return number

    def validator(self) -> BeforeValidator:
        """The check, for a field of a model."""
        return BeforeValidator(self.check)


RESORT = Bounds(1, 999_999_999)
SEASON = Bounds(1900, 2199)
DAY = Bounds(1, 366)
SKIER = Bounds(1, 999_999_999_999)
TIME = Bounds(0, 1439)
LIFT = Bounds(1, 1000)

ResortID = Annotated[int, RESORT.validator(), Field(alias="resortID", description=RESORT.form)]
SeasonID = Annotated[int, SEASON.validator(), Field(alias="seasonID", description=SEASON.form)]
DayID = Annotated[int, DAY.validator(), Field(alias="dayID", description=DAY.form)]
SkierID = Annotated[int, SKIER.validator(), Field(alias="skierID", description=SKIER.form)]
LiftID = Annotated[int, LIFT.validator(), Field(alias="liftID", description=LIFT.form)]
Minute = Annotated[int, TIME.validator(), Field(description=f"{TIME.form}: the minute of the ski day")]
