"""Answer models of the routes of lift rides, resorts and seasons."""

from __future__ import annotations

from typing_extensions import TypedDict

from headrace.core.fields import CanonicalTime


class ResortTotal(TypedDict):
    """The vertical of a skier at a resort in a season."""

    resortID: int
    seasonID: str
    totalVert: int


class Totals(TypedDict):
    """A skier's vertical by resort and season. A resort and season without rides is left out."""

    resorts: list[ResortTotal]


class SkiedDay(TypedDict):
    """A day: its vertical, and the lift of each ride, in order of time."""

    dayID: int
    vertical: int
    lifts: list[int]


class Days(TypedDict):
    """The days a skier skied in a season."""

    skierID: int
    seasonID: str
    daysSkied: int
    days: list[SkiedDay]


class RideItem(TypedDict):
    """A ride; ``time`` is the minute of the ski day."""

    time: int
    resortID: int
    liftID: int
    rideID: str


class DayLifts(SkiedDay):
    """A skier's day: its vertical, the lift of each ride in order of time, and the rides."""

    skierID: int
    seasonID: str
    rides: list[RideItem]


class UniqueSkiers(TypedDict):
    """Unique skiers of a resort's day, as of ``time``."""

    time: CanonicalTime
    numSkiers: int


class LiftRides(TypedDict):
    """Rides of a lift on a day."""

    liftID: int
    rides: int


class HourRides(TypedDict):
    """Rides in an hour of the day, 0 to 23."""

    hour: int
    rides: int


class Hours(TypedDict):
    """Rides of a resort's day by hour."""

    hours: list[HourRides]


class AllRides(TypedDict):
    """Rides of a day at ``resorts`` resorts together, by the number of the lift and by hour.

    ``missing`` lists the resorts that the answer does not count, because counting took too long. Ask again: those that
    are counted stay counted.
    """

    resorts: int
    missing: list[int]
    lifts: list[LiftRides]
    hours: list[HourRides]


class ResortItem(TypedDict):
    """A resort and its name."""

    resortID: int
    resortName: str


class Resorts(TypedDict):
    """All resorts that have a season, by id."""

    resorts: list[ResortItem]


class Seasons(TypedDict):
    """The seasons of a resort."""

    seasons: list[str]


class AddedSeason(TypedDict):
    """The season that was added."""

    resortID: int
    seasonID: str


class RouteStatistics(TypedDict):
    """Mean and longest time of a route, in milliseconds."""

    URL: str
    operation: str
    mean: float
    max: float


class Statistics(TypedDict):
    """The times of all routes ``since`` a time."""

    endpointStats: list[RouteStatistics]
    since: CanonicalTime | None
