"""Sends the streams of a replay, several at a time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from loadtest.chat.replay_plan import ReplayStream
from loadtest.checker.checker import Checker
from loadtest.client.target import Target
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import FrameTransport
from localstage.client.errors import ClientError


def send(
    streams: Sequence[ReplayStream],
    connections: int,
    target: Target,
    checker: Checker,
    advance: Callable[[int], object],
    retry_timeout: float,
) -> tuple[float, list[str]]:
    """Send ``streams``, up to ``connections`` at a time; ``advance`` gets the number of events of each answer.

    Returns the seconds from the first frame to the last answer, and a sentence for each stream that was not sent
    completely.
    """
    problems: list[str] = []

    def send_stream(stream: ReplayStream) -> None:
        connection = target.websocket(stream.user, *stream.scopes)
        transport = FrameTransport(connection, checker.retried, reconnected=checker.reconnect)
        delivery = Delivery(transport, checker, retry_timeout)
        checker.attempted(stream.events)
        try:
            if stream.rate:
                connection.open_patiently()
            due = time.perf_counter()
            for events in stream.parts():
                if stream.rate:
                    # People do not type in step: pauses vary, and their mean is the rate's.
                    due += random.uniform(0.0, 2.0) / stream.rate
                    time.sleep(max(0.0, due - time.perf_counter()))
                delivery.send(events)
                advance(len(events))
        except ClientError as error:
            problems.append(f"{stream.user}: {error}")
        finally:
            connection.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(send_stream, streams))
    return time.perf_counter() - started, problems
