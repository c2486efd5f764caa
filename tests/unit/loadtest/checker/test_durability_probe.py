"""The durable latency is sampled at fixed times, so that a stall shows in the percentiles."""

from __future__ import annotations

import threading
import time

import pytest

from loadtest.checker.durability_probe import DurabilityProbe
from localstage.client.errors import ClientError, HttpError, TokenRefused


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


@pytest.mark.parametrize("error", [TokenRefused("no"), HttpError(401, "unauthorized", "no")])
def test_without_a_valid_token_a_sample_has_no_value(error: ClientError) -> None:
    def refuse() -> int:
        raise error

    values: list[float] = []
    probe = DurabilityProbe(lambda _: (1, refuse), lambda seconds, _: values.append(seconds))

    probe.offer(["a"], time.perf_counter())

    probe.finish()
    assert values == []
