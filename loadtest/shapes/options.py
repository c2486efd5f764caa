"""The options that choose and scale a shape, shared by ``make load`` and Locust."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from loadtest.client.command import RETRY_TIMEOUT, count, positive
from loadtest.declared.events import declaration_of
from loadtest.shapes.catalog import OF_STREAM, SHAPES, of_stream
from loadtest.shapes.shape import Shape
from localstage.client.errors import ClientError

DEFAULT = "frames"
RESULTS = ".local/load"


def add_options(parser: Any, names: Sequence[str], **more: Any) -> None:
    """Add the options to a parser of argparse or Locust, which gets ``more`` with each of them."""
    add = partial(parser.add_argument, **more)
    add("--shape", choices=names, default=DEFAULT, help=f"which load (default {DEFAULT})")
    add("--stream", default="", help="a stream instead of a shape, such as a declared one")
    add("--scale", type=positive, default=1.0, help="factor of events, seconds, users and rates")
    add("--seconds", type=positive, help="duration of the longest phase")
    add("--messages", type=count, help="events of the first phase; in proportion in the others")
    add("--rate", type=positive, help="events a second in each phase that sends events")
    add("--paced", action="store_true", help="let senders slow down after refusals")
    add("--retry-timeout", type=positive, default=RETRY_TIMEOUT, help="seconds until senders give up (default 600)")
    add("--results", default=RESULTS, help=f"folder of the results (default {RESULTS})")
    add("--requests", default="", help="write each request to this CSV file: time, type, latency and response code")
    add("--http-url", help="default: the local stage that runs here")
    add("--websocket-url")


def shape_of(options: Any) -> Shape:
    """The shape that the options choose.

    Raises:
        ClientError: the shape has no number of events or no duration to set.
        ClientError: no stream has the name.
    """
    shape = _chosen(options).scaled(options.scale)
    try:
        if options.seconds:
            shape = shape.with_seconds(options.seconds)
        if options.messages:
            shape = shape.with_events(options.messages)
    except ValueError as error:
        raise ClientError(str(error)) from None
    if options.rate:
        shape = shape.at_rate(options.rate)
    return shape.sent(options.paced, options.retry_timeout)


def _chosen(options: Any) -> Shape:
    if not options.stream:
        return SHAPES[options.shape]
    if options.shape != DEFAULT:
        raise ClientError(f"SHAPE: {options.shape!r} is not for a stream; give SHAPE or STREAM")
    if options.stream not in OF_STREAM:
        declaration_of(options.stream)
    return of_stream(options.stream)


def arguments_of(options: Any) -> list[str]:
    """The options as arguments of another command."""
    names = ("shape", "stream", "scale", "seconds", "messages", "rate", "results", "requests", "retry_timeout")
    given = ((f"--{name.replace('_', '-')}", getattr(options, name)) for name in names)
    arguments = [text for option, value in given if value not in (None, "") for text in (option, str(value))]
    return [*arguments, *(["--paced"] if options.paced else [])]
