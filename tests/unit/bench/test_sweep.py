"""A sweep measures the settings that were asked for, and draws them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.sweep.__main__ import means, report
from bench.sweep.grid import LOCAL, Setting, grid
from bench.sweep.heat_map import write
from bench.sweep.point import Point
from loadtest.client.stage_template import write_template
from localstage.core.model import StageModel
from localstage.template.attributes import Attributes, Live
from localstage.template.loading import load
from tests.unit.template_stack import QUEUE_PARAMETERS

URL = "http://127.0.0.1:1"


def model(template: Path, state: Path) -> StageModel:
    live = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, URL, URL, URL, URL, URL, URL, URL)
    return load(template, attributes=Attributes(live), state_dir=state)


def setting_of(stage: StageModel) -> Setting:
    """The setting that a stage of this model has."""
    mappings = [each for each in stage.rabbitmq_mappings.values() if "chat" in each.queue]
    ((batch, window),) = {(each.batch_size, each.window) for each in mappings}
    queues = {stage.functions[name].environment["PERSIST_QUEUES"] for name in ("ReceiveFrame", "ReceiveHttp")}
    writers = stage.functions["PersistEvents"].environment.get("PERSIST_PARALLEL_WRITES", "8")
    assert queues == {",".join(f"{name}={len(mappings) if name == 'chat' else 1}" for name in QUEUE_PARAMETERS)}
    receivers = stage.functions["ReceiveFrame"].reserved_concurrency or 0
    return Setting(batch, window, len(mappings), int(writers), receivers)


def point(setting: Setting, rate: float, lost: int = 0) -> Point:
    return Point(setting, rate, 100.0, 200.0, 10.0, 20.0, 7, 100, lost, not lost, 1.0)


@pytest.mark.parametrize("setting", [Setting(50, None, 4, 2, 1), LOCAL])
def test_a_stage_of_the_edited_template_has_the_setting(tmp_path: Path, setting: Setting) -> None:
    template = write_template(tmp_path / "template", setting.edits(), setting.parameters())

    assert setting_of(model(template, tmp_path / "state")) == setting


def test_without_options_at_most_24_points_vary_all_four_settings() -> None:
    settings = grid({})

    assert 16 <= len(settings) <= 24
    assert len(set(settings)) == len(settings)
    assert {each.window for each in settings} == {None, 0, 1}
    for name in ("batch", "queues", "writers"):
        assert len({getattr(each, name) for each in settings}) > 1


def test_given_lists_are_combined_and_the_others_stay_as_they_are() -> None:
    assert grid({"queues": "1,2,4", "batches": ""}) == [Setting(queues=1), Setting(queues=2), Setting(queues=4)]
    assert grid({"windows": "unset, 1", "writers": "4,4"}) == [Setting(window=None, writers=4), Setting(200, 1, 1, 4)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queues": "1,9"}, "QUEUES has 1, 2, 4, 8, 16, 32 or 64, not '9'"),
        ({"batches": "0"}, "BATCHES has whole numbers from 1 to 10000, not '0'"),
        ({"windows": "none"}, "WINDOWS has whole numbers from 0 to 300, or unset, not 'none'"),
        ({"writers": "8,"}, "WRITERS has whole numbers from 1 to 64, not ''"),
    ],
)
def test_a_wrong_list_is_refused_with_its_form(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grid(options)


def test_the_heat_map_has_the_values_of_every_point(tmp_path: Path) -> None:
    points = [point(Setting(batch, window), 100.0 * batch) for batch in (5, 20) for window in (None, 0)]
    write(points, tmp_path / "sweep.svg")
    drawn = ElementTree.parse(tmp_path / "sweep.svg")
    texts = [each.text or "" for each in drawn.iter("{http://www.w3.org/2000/svg}text")]

    assert {"batch 5, window unset", "batch 20, window 0", "queues 1, writers 8, receivers 34"} <= set(texts)
    assert [texts.count(each) for each in ("500", "2,000", "10", "20")] == [2, 2, 4, 4]


def test_each_value_of_a_setting_has_its_means() -> None:
    points = [point(Setting(batch, window), 100.0 * batch) for batch in (5, 20) for window in (None, 0)]

    assert list(means([*points, point(Setting(5, 0), 0.0, lost=1)])) == [
        "batch 5: mean 500 stored/s, singles durable p50 10 ms",
        "batch 20: mean 2,000 stored/s, singles durable p50 10 ms",
        "window unset: mean 1,250 stored/s, singles durable p50 10 ms",
        "window 0: mean 1,250 stored/s, singles durable p50 10 ms",
    ]


def test_an_interrupted_sweep_is_written_as_partial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [Setting(queues=queues) for queues in (1, 2)]
    report([point(settings[0], 100.0)], settings, 100, tmp_path, 0.0)
    (path,) = tmp_path.glob("*.json")
    written = json.loads(path.read_text())

    assert written["partial"] is True
    assert written["points"][0]["setting"] == asdict(LOCAL)
    assert path.with_suffix(".svg").exists()
    assert "partial: 1 of 2 points" in capsys.readouterr().out
