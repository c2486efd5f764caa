"""Latencies in HDR histograms, per second and from several processes."""

from __future__ import annotations

import json
import random

import pytest

from loadtest.measured.histogram import Histogram
from loadtest.measured.measurements import Measurements, Merged


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_percentiles_are_exact_to_three_digits() -> None:
    chance = random.Random(1)
    values = sorted(chance.expovariate(20) + 0.001 for _ in range(20_000))
    histogram = Histogram()
    for value in values:
        histogram.record(value)

    for percent in (50.0, 95.0, 99.0, 99.9):
        exact = values[round(len(values) * percent / 100) - 1]
        assert histogram.percentile(percent) == pytest.approx(exact, rel=0.001)
    assert histogram.count == 20_000


def test_each_second_has_its_own_counts_and_percentiles() -> None:
    clock = Clock()
    measurements = Measurements(clock)
    measurements.start()
    measurements.record("ack", 0.010, 25)
    measurements.count("accepted", 25)
    clock.now += 2.5
    measurements.record("ack", 3.0)
    measurements.count("accepted")

    merged = Merged()
    merged.add(measurements.message())
    first, second = merged.timeline()

    assert (first["second"], second["second"]) == (0, 2)
    assert first["counts"] == {"accepted": 25}
    assert first["latencies"]["ack"]["p99"] == pytest.approx(0.010, rel=0.001)
    assert second["latencies"]["ack"]["p50"] == pytest.approx(3.0, rel=0.001)
    assert merged.latencies["ack"].count == 26


def test_several_processes_are_measured_as_one() -> None:
    merged = Merged()
    for value in (0.1, 0.3):
        clock = Clock()
        measurements = Measurements(clock)
        measurements.record("ack", value, 10)
        measurements.count("accepted", 10)
        merged.add(json.loads(json.dumps(measurements.message())))

    (second,) = merged.timeline()

    assert merged.counts == {"accepted": 20}
    assert second["latencies"]["ack"]["count"] == 20
    assert merged.latencies["ack"].percentile(50) == pytest.approx(0.1, rel=0.001)
    assert merged.latencies["ack"].percentile(99) == pytest.approx(0.3, rel=0.001)
