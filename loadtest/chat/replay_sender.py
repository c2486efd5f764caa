"""Sends the streams of a replay, several at a time."""

from __future__ import annotations

import time
from collections.abc import Callable

from loadtest.chat.replay_plan import Plan, ReplayStream
from loadtest.checker.checker import Checker
from loadtest.client.target import Target
from loadtest.sending.delivery import Delivery
from loadtest.sending.threads import in_threads
from loadtest.sending.transports import FrameTransport
from localstage.client.errors import ClientError


def send(plan: Plan, target: Target, checker: Checker, advance: Callable[[int], object]) -> tuple[float, list[str]]:
    """Send everything; ``advance`` is called with the number of events of each answer.

    Returns the seconds from the first frame to the last answer, and a sentence for each stream that was not sent
    completely.
    """
    problems: list[str] = []

    def send_stream(stream: ReplayStream) -> None:
        connection = target.websocket(stream.user, *stream.scopes)
        retried, reconnected = checker.retried, checker.reconnect
        transport = FrameTransport(connection, retried, single=stream.single, reconnected=reconnected)
        delivery = Delivery(transport, checker)
        checker.attempted(stream.events)
        try:
            for events in stream.parts():
                delivery.send(events)
                advance(len(events))
        except ClientError as error:
            problems.append(f"{stream.user}: {error}")
        finally:
            connection.close()

    for event in plan.permitted:
        checker.permit(event)
    started = time.perf_counter()
    in_threads(send_stream, plan.streams, plan.connections)
    return time.perf_counter() - started, problems
