"""Lift rides and ad clicks: commands that send them, read them and take them back."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import click

from ..client import Kind
from .show import Group
from .stage import Stage

CLICK = ("clickedAt", "adId", "userId", "adType")
BATCH = 500
NUMBERS = frozenset({"resort", "day", "lift", "skier"})
"""The arguments of :func:`ask` that are whole numbers."""
RIDE_EXAMPLE = '{"resortID": 7, "seasonID": 2025, "dayID": 45, "skierID": 123, "time": 217, "liftID": 21}'
CLICK_EXAMPLE = '{"adId": "ad-1", "adType": "banner", "clickedAt": "2025-11-21T10:00:00Z", "clickId": "c-1"}'


def _finite(text: str) -> float:
    if not math.isfinite(found := float(text)):
        raise ValueError(f"{text} is no number of JSON")
    return found


decode = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).decode
"""Reads JSON. It refuses numbers that would make a whole request invalid."""


def events_of(given: tuple[str, ...], such_as: str) -> list[Any]:
    """Events that were given as JSON; "-" stands for those on standard input, one a line."""
    lines = [line for each in given for line in (sys.stdin if each == "-" else [each])]
    with contextlib.suppress(ValueError, RecursionError):
        events = [decode(line) for line in lines if line.strip()]
        if all(isinstance(each, dict) for each in events):
            return events
    raise click.UsageError(f"an event is a JSON object, {such_as}")


def add_newest(
    group: click.Group, name: str, operation: str, argument: str, columns: tuple[str, ...], *, said: str
) -> None:
    """Add a command that prints the newest items of an operation with pages, the newest last."""

    @click.argument(argument)
    @click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="So many of the newest.")
    @click.pass_obj
    def command(stage: Stage, /, last: int, **given: str) -> None:
        with stage.client() as client:
            found = client.items(getattr(client, operation), given[argument], limit=min(last, 200))
            items = [item for item, _ in zip(found, range(last), strict=False)][::-1]
        stage.show_items(items, columns)

    group.command(name, help=said)(command)


def with_times(command: Any) -> Any:
    """Add the options of a window of time."""
    from_, to = (partial(_hours_ago, hours) for hours in (1, 0))
    command = click.option("--to", default=to, show_default="now", help="Times before this one.")(command)
    said = "This time or later (ISO-8601 with a zone)."
    return click.option("--from", "from_", default=from_, show_default="an hour ago", help=said)(command)


def _hours_ago(hours: int) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat()


def ask(group: click.Group, name: str, operation: str, *arguments: str, said: str) -> None:
    """Add a command that calls an operation with its arguments, and prints the answer."""

    @click.pass_obj
    def command(stage: Stage, /, **given: Any) -> None:
        with stage.client() as client:
            stage.show(getattr(client, operation)(*(given[each] for each in arguments)))

    decorated: Callable[..., None] = command
    for argument in reversed(arguments):
        decorated = click.argument(argument, type=int if argument in NUMBERS else str)(decorated)
    group.command(name, help=said)(decorated)


def _with_events(group: Group, name: str, said: str, example: str) -> Callable[[Callable[..., None]], None]:
    """Add a command whose arguments are events; the decorated function gets them."""
    said = f"""{said}

    EVENTS are JSON, for example '{example}'; \"-\" reads one a line. Those that are refused are named, and the command
    ends with 1."""

    def add(act: Callable[..., None]) -> None:
        @click.pass_obj
        def command(stage: Stage, /, events: tuple[str, ...]) -> None:
            act(stage, events_of(events, f"such as {example}"))

        group.command(name, help=said)(click.argument("events", nargs=-1, required=True)(command))

    return add


def _send(group: Group, kind: Kind, example: str, *names: str) -> None:
    """Add a command that sends events until each is accepted, and prints these fields of them."""

    @_with_events(group, "send", "Send EVENTS until they are accepted, and print the lane of each.", example)
    def send(stage: Stage, given: list[Any]) -> None:
        with stage.client() as client:
            sent = client.send(given, kind, raise_for_errors=False)
        stage.show_sent(sent, names)


def _take_back(group: Group, operation: str, example: str) -> None:
    """Add a command that takes events back, as many in one request as the API takes."""

    @_with_events(group, "take-back", "Take back EVENTS that you sent, as they were sent.", example)
    def take_back(stage: Stage, given: list[Any]) -> None:
        results: list[Any] = []
        with stage.client() as client:
            for start in range(0, len(given), BATCH):
                results += getattr(client, operation)({"events": given[start : start + BATCH]})["results"]
        stage.show({"results": results})
        if any("error" in each for each in results):
            sys.exit(1)


@click.group(cls=Group)
def ski() -> None:
    """Send lift rides, ask about them, and take rides back."""


DAY = ("resort", "season", "day")
for name, operation, arguments, said in (
    ("resorts", "list_resorts", (), "Print the resorts that have a season."),
    ("seasons", "list_seasons", ("resort",), "Print the seasons of RESORT."),
    ("skiers", "count_skiers", DAY, "Print how many skiers were at RESORT on DAY of SEASON."),
    ("hours", "count_rides_by_hour", DAY, "Print the rides at RESORT in each hour of a day."),
    ("lift", "count_lift_rides", (*DAY, "lift"), "Print the rides of LIFT at RESORT on a day."),
    ("rides", "count_rides", ("season", "day"), "Print the rides of a day, by lift and by hour, at all resorts."),
    ("day", "get_skier_day", ("season", "day", "skier"), "Print the vertical, lifts and rides of SKIER on a day."),
    ("days", "list_skied_days", ("season", "skier"), "Print the days of SEASON on which SKIER skied."),
    ("day-vertical", "get_day_vertical", (*DAY, "skier"), "Print the vertical of SKIER at RESORT on a day."),
    ("statistics", "get_statistics", (), "Print how long the requests of each route took."),
):
    ask(ski, name, operation, *arguments, said=said)
_send(ski, "rides", RIDE_EXAMPLE, "skierID", "time", "liftID")
_take_back(ski, "take_back_rides", RIDE_EXAMPLE)


@ski.command()
@click.argument("skier", type=int)
@click.option("--resort", "resorts", required=True, multiple=True, type=int, help="Of this resort; repeatable.")
@click.option("--season", "seasons", multiple=True, type=int, help="Only this season; repeatable.")
@click.pass_obj
def vertical(stage: Stage, skier: int, resorts: tuple[int, ...], seasons: tuple[int, ...]) -> None:
    """Print the vertical of SKIER at a resort, by season."""
    with stage.client() as client:
        stage.show(client.get_vertical(skier, resort=[*resorts], season=[*seasons]))


@click.group(cls=Group)
def ads() -> None:
    """Send ad clicks, ask about them, and take clicks back."""


_send(ads, "clicks", CLICK_EXAMPLE, "adId", "clickId")
_take_back(ads, "take_back_clicks", CLICK_EXAMPLE)


@ads.command()
@with_times
@click.option("--top", type=click.IntRange(1), help="So many ads.")
@click.pass_obj
def top(stage: Stage, from_: str, to: str, top: int | None) -> None:
    """Print the ads with the most clicks."""
    with stage.client() as client:
        stage.show(client.list_top_ads(from_=from_, to=to, top=top))


@ads.command()
@click.argument("ad")
@with_times
@click.option("--step", type=click.Choice(["60", "3600", "86400"]), help="Seconds of a step.")
@click.pass_obj
def stats(stage: Stage, ad: str, from_: str, to: str, step: Any) -> None:
    """Print the clicks of AD, by type and over time."""
    with stage.client() as client:
        stage.show(client.get_ad_stats(ad, from_=from_, to=to, step=step))


add_newest(ads, "clicks", "list_ad_clicks", "ad", CLICK, said="Print the newest clicks on AD, the newest last.")
add_newest(ads, "user", "list_user_clicks", "user", CLICK, said="Print the newest clicks of USER, the newest last.")
