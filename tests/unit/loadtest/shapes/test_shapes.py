"""The catalog of shapes, and how they are scaled."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.options import add_options, shape_of
from loadtest.shapes.shape import WRITERS, Phase, Shape
from localstage.client.errors import ClientError

FILES = (Path(__file__).parents[4] / "loadtest" / "users").glob("*.py")
"""Not imported: Locust changes the process that imports it."""
KIND = re.compile(r"^(?:class|    )\W?(\w+(?:Writer|Reader))\b", re.M)
USERS = {each for file in FILES for each in KIND.findall(file.read_text())}


def shape(*arguments: str) -> Shape:
    parser = argparse.ArgumentParser()
    add_options(parser, sorted(SHAPES))
    return shape_of(parser.parse_args(arguments))


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_says_what_it_is_and_names_users_that_exist(name: str) -> None:
    assert len(f"{name:<10} {SHAPES[name].description}") <= 120
    for phase in SHAPES[name].steps:
        assert {load.kind for load in phase.loads} <= USERS
        assert all(load.rate == 0 or phase.seconds for load in phase.loads), phase.name
        assert Phase.of_message(asdict(phase)) == phase


def test_the_mixed_shape_has_the_published_shares() -> None:
    loads = SHAPES["mixed"].phases[0].loads
    total = sum(load.rate for load in loads)
    writes = sum(load.rate for load in loads if load.kind in WRITERS)
    reads = {load.kind: load.rate / (total - writes) for load in loads if load.kind not in WRITERS}

    assert writes / total == pytest.approx(0.3)
    assert list(reads.values()) == pytest.approx([0.59, 0.20, 0.10, 0.10, 0.01])


def test_a_phase_is_named_by_what_is_run() -> None:
    assert [phase.name for phase in shape("--shape", "backlog", "--scale", "0.25").phases] == [
        "32 clients",
        "64 clients",
    ]
    assert [phase.name for phase in shape("--shape", "clicks", "--scale", "0.1").phases] == ["100/s", "120/s"]
    steps = [phase.name for phase in shape("--shape", "limit", "--rate", "500").steps]
    assert steps[:3] == ["cold start", "500/s", "650/s"]


def test_functions_have_their_time_to_start_in_a_short_run() -> None:
    assert [phase.seconds for phase in shape("--shape", "mixed", "--seconds", "20").phases] == [15, 20]


def test_what_a_shape_does_not_have_cannot_be_set() -> None:
    with pytest.raises(ClientError, match="baseline sends a number of events"):
        shape("--shape", "baseline", "--seconds", "5")
    with pytest.raises(ClientError, match="endurance has a duration"):
        shape("--shape", "endurance", "--messages", "5")


def test_a_stream_takes_the_place_of_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSTAGE_STREAMS", str(Path(__file__).parents[4] / "examples" / "streams"))
    (doors,) = shape("--stream", "doors", "--messages", "500").phases

    assert (doors.stream, doors.loads[0].events, doors.repeated, doors.events) == ("doors", 500, 0.1, "events")
    assert shape("--stream", "ads") == SHAPES["clicks"]
    with pytest.raises(ClientError, match="SHAPE: 'ads' is not for a stream; give SHAPE or STREAM"):
        shape("--stream", "doors", "--shape", "ads")
