"""Samples of a stage that is not local: of the load generator, and what the stage says of itself."""

from __future__ import annotations

import time

import pytest

from loadtest.client.target import Target
from loadtest.samples.recording import Recording
from loadtest.samples.sampler import NOT_LOCAL
from tests.contract.loadtest.fake_stage import FakeStage


def test_the_load_generator_is_sampled_and_what_a_deployed_stage_lacks_is_named(
    stage: FakeStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tokens are those of the target, also if no variable names them. The fake stage has no ``GET /status``."""
    monkeypatch.delenv("TOKEN_URL", raising=False)
    recording = Recording(Target(stage.http_url, stage.websocket_url, stage.token_url))

    recording.wait()
    time.sleep(2.5)
    samples = recording.finish()

    assert samples["notes"] == [NOT_LOCAL]
    assert samples["times"]
    # This process stands for the load generator, and other tests may have started a stage below it.
    assert {"load generator", "sampling"} <= samples["cpu"].keys() == samples["memory"].keys()
    assert "invocations" not in samples
    assert set(samples["depths"]) == {"main", "retry", "dead", "parking"}
    assert {depth for values in samples["depths"].values() for depth in values} == {None}
    assert recording.finish() == samples
