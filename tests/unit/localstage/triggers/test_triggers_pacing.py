"""Delays and warnings of triggers."""

from __future__ import annotations

import logging

import pytest

from localstage.triggers.pacing import Backoff, Reporter


def test_delays_double_up_to_the_longest_until_reset():
    backoff = Backoff(0.1, 0.5)

    assert [backoff.next() for _ in range(5)] == [0.1, 0.2, 0.4, 0.5, 0.5]
    backoff.reset()
    assert backoff.next() == 0.1


def test_a_repeated_warning_is_logged_every_five_seconds_with_its_count(caplog: pytest.LogCaptureFixture):
    times = iter((0.0, 1.0, 4.9, 5.0, 6.0))
    reporter = Reporter(logging.getLogger("localstage.triggers"), clock=lambda: next(times))

    for _ in range(4):
        reporter.warn("source", "away")
    reporter.warn("failed", "failed")

    assert [record.getMessage() for record in caplog.records] == ["away", "away (2 more like this)", "failed"]
