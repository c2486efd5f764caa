"""Periodic work in a thread beside the requests."""

from __future__ import annotations

import threading

import pytest

from headrace.runtime import threads as module
from headrace.runtime.threads import Background
from tests.fakes.clock import Seconds

LONG = 30.0


def test_a_task_runs_at_most_once_per_period() -> None:
    clock, runs = Seconds(0.0), list[float]()
    background = Background("test", 1.0, LONG, clock)

    started = []
    for clock.now in (0.0, 0.9, 1.0, 1.5, 2.0):
        started.append(background.run(lambda: runs.append(clock.now)))

    assert started == [True, False, True, False, True]
    assert runs == [0.0, 1.0, 2.0]


def test_the_first_task_starts_after_the_delay() -> None:
    clock, runs = Seconds(0.0), list[float]()
    background = Background("test", 1.0, LONG, clock, delay=0.5)

    for clock.now in (0.0, 0.4, 0.5, 1.4, 1.5):
        background.run(lambda: runs.append(clock.now))

    assert runs == [0.5, 1.5]


def test_a_clock_that_is_set_back_does_not_stop_the_tasks() -> None:
    clock, runs = Seconds(0.0), list[float]()
    background = Background("test", 1.0, LONG, clock)

    for clock.now in (500.0, 10.0, 10.9, 11.0):
        background.run(lambda: runs.append(clock.now))

    assert runs == [500.0, 10.0, 11.0]


def test_a_task_runs_in_another_thread() -> None:
    threads: list[threading.Thread] = []

    Background("test", 1.0, LONG).run(lambda: threads.append(threading.current_thread()))

    assert threads
    assert threads[0] is not threading.current_thread()


def test_no_task_starts_while_another_one_runs() -> None:
    clock, release, ended = Seconds(0.0), threading.Event(), threading.Event()
    background = Background("test", 1.0, 0.001, clock)

    def slow() -> None:
        release.wait(LONG)
        ended.set()

    assert background.run(slow)
    clock.now = 5.0
    assert not background.run(ended.set)

    release.set()
    assert ended.wait(LONG)


def test_the_caller_goes_on_when_its_wait_is_over() -> None:
    release, ended = threading.Event(), threading.Event()

    def slow() -> None:
        release.wait(LONG)
        ended.set()

    Background("test", 1.0, 0.001).run(slow)

    assert not ended.is_set()
    release.set()
    assert ended.wait(LONG)


def test_an_exception_is_reported_and_the_next_task_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, reported, runs = Seconds(0.0), list[BaseException](), list[int]()
    monkeypatch.setattr(module, "report_unexpected", reported.append)
    background = Background("test", 1.0, LONG, clock)

    background.run(lambda: runs.append(1 // 0))
    clock.now = 1.0
    background.run(lambda: runs.append(1))

    assert [type(error) for error in reported] == [ZeroDivisionError]
    assert runs == [1]
