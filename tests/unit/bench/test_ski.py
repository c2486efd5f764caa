"""The stages of five configurations of a ski server have their settings, tables and functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ski.__main__ import CONFIGURATIONS, ride, template_of
from localstage.core.model import StageModel
from localstage.template import load
from localstage.template.attributes import Attributes, Live

URL = "http://127.0.0.1:1"


def model(template: Path, state: Path) -> StageModel:
    live = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, URL, URL, URL, URL, URL, URL, URL)
    return load(template, attributes=Attributes(live), state_dir=state)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_stage_has_the_receivers_and_the_function_of_its_configuration(name: str, tmp_path: Path) -> None:
    wanted = CONFIGURATIONS[name]
    stage = model(template_of(tmp_path / "template", **wanted), tmp_path / "state")

    persist = stage.functions["PersistEvents"]
    assert stage.functions["ReceiveHttp"].reserved_concurrency == wanted.get("receivers", 20)
    assert ("SkierDaysTable" in stage.tables) == ("peer" in wanted)
    assert ("SKIER_DAYS_TABLE" in persist.environment) == ("peer" in wanted)


def test_no_two_rides_are_the_same_one() -> None:
    sent = [ride(number) for number in range(12_000)]

    assert len({(path, body["time"], body["liftID"]) for path, body in sent}) == 12_000
    assert len({path for path, _ in sent}) == 5_000
