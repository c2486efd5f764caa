"""Field types for the numbers of a ride and of a path, with their bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from headrace.core.fields import DIGITS, NUMBER_OR_DIGITS, whole_number

VERTICAL_PER_LIFT = 10
RESORTS = 1, 999_999_999
SEASONS = 1900, 2199

Resort = Annotated[int, whole_number(*RESORTS, **DIGITS), NUMBER_OR_DIGITS]
Season = Annotated[int, whole_number(*SEASONS, **DIGITS), NUMBER_OR_DIGITS]
ResortID = Annotated[Resort, Field(alias="resortID")]
SeasonID = Annotated[Season, Field(alias="seasonID")]
DayID = Annotated[int, whole_number(1, 366, alias="dayID", **DIGITS), NUMBER_OR_DIGITS]
SkierID = Annotated[int, whole_number(1, 999_999_999_999, alias="skierID", **DIGITS), NUMBER_OR_DIGITS]
LiftID = Annotated[int, whole_number(1, 1000, alias="liftID", **DIGITS), NUMBER_OR_DIGITS]
MINUTE_FORM = "a whole number from 0 to 1439: the minute of the ski day"
Minute = Annotated[int, whole_number(0, 1439, description=MINUTE_FORM, **DIGITS), NUMBER_OR_DIGITS]
