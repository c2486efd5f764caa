"""The durable latency is sampled at fixed times, so that a stall shows in the percentiles."""

from __future__ import annotations

import threading
import time

from loadtest.checker.durability_probe import DurabilityProbe


def test_a_stall_has_as_many_samples_as_another_time() -> None:
    is_stored, values = threading.Event(), list[float]()
    probe = DurabilityProbe(
        lambda _: (1, lambda: int(is_stored.is_set())), lambda seconds, _: values.append(seconds), every=0
    )

    for _ in range(20):
        probe.offer(["a"], time.perf_counter())

    assert values == []
    is_stored.set()
    probe.finish()
    assert len(values) == 20
