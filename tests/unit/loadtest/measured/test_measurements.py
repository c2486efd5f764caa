"""Latencies in HDR histograms, per second and from several processes."""

from __future__ import annotations

import json

import pytest

from loadtest.measured.measurements import Measurements, Merged


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


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
