"""The catalog of shapes, and how they are scaled."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.options import WrongOption, add_options, shape_of
from loadtest.shapes.shape import FEWEST_USERS, WRITERS, Phase, Shape

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


def test_every_kind_of_user_has_a_shape() -> None:
    assert {load.kind for each in SHAPES.values() for phase in each.phases for load in phase.loads} == USERS
    assert set(WRITERS) <= set(USERS)


def test_the_mixed_shape_has_the_published_shares() -> None:
    loads = SHAPES["mixed"].phases[0].loads
    total = sum(load.rate for load in loads)
    writes = sum(load.rate for load in loads if load.kind in WRITERS)
    reads = {load.kind: load.rate / (total - writes) for load in loads if load.kind not in WRITERS}

    assert writes / total == pytest.approx(0.3)
    assert list(reads.values()) == pytest.approx([0.59, 0.20, 0.10, 0.10, 0.01])


def test_a_hot_room_has_the_same_load_with_one_partition_and_with_eight() -> None:
    plain, sharded = SHAPES["hot-room"].phases

    assert (plain.rooms, plain.shards, sharded.shards) == (1, 0, 8)
    assert plain.loads == sharded.loads


def test_one_parameter_scales_events_seconds_users_and_rates() -> None:
    (ski_opening, *_), (endurance,) = shape("--shape", "ski", "--scale", "0.1").phases, SHAPES["endurance"].phases
    (scaled,) = shape("--shape", "endurance", "--scale", "0.1").phases

    assert (ski_opening.loads[0].events, ski_opening.loads[0].users) == (3_200, FEWEST_USERS)
    assert scaled.seconds == pytest.approx(endurance.seconds / 10)
    assert scaled.loads[0].rate == pytest.approx(100)


def test_a_duration_or_a_number_of_messages_can_be_set() -> None:
    spike = shape("--shape", "spike", "--seconds", "12")
    frames = shape("--messages", "500")

    assert [phase.seconds for phase in spike.phases] == pytest.approx([6, 3, 12])
    assert [load.events for phase in frames.phases for load in phase.loads] == [500, 100]


def test_a_rate_is_that_of_all_writers_of_a_phase_in_their_shares() -> None:
    *_, rides, questions, _, _, _ = shape("--shape", "ski", "--rate", "500").phases
    mixed = shape("--shape", "mixed", "--rate", "90").phases[-1].loads

    assert (rides.loads[0].rate, rides.loads[0].events, questions.loads[0].rate) == (500, 200_000, 0)
    assert [load.rate for load in mixed[:3]] == pytest.approx([45, 45, 41.3])


def test_senders_of_each_stream_can_be_paced_and_have_a_time() -> None:
    for name in ("ski", "singles"):
        assert all(phase.paced for phase in shape("--shape", name, "--paced").phases)
        assert not any(phase.paced for phase in SHAPES[name].phases)
        assert {phase.retry_timeout for phase in shape("--shape", name, "--retry-timeout", "30").phases} == {30}
    assert all(phase.paced for phase in shape("--shape", "rides").phases)


def test_what_a_shape_does_not_have_cannot_be_set() -> None:
    with pytest.raises(WrongOption, match="baseline sends a number of events"):
        shape("--shape", "baseline", "--seconds", "5")
    with pytest.raises(WrongOption, match="endurance has a duration"):
        shape("--shape", "endurance", "--messages", "5")


def test_the_limit_raises_the_rate_step_by_step() -> None:
    limit = SHAPES["limit"]
    assert limit.limit is not None

    steps = [limit.phases[0].faster(limit.limit.factor**step) for step in range(3)]

    assert [phase.name for phase in steps] == ["200/s", "260/s", "338/s"]


def test_a_resized_shape_says_what_is_sent_beside_what_the_whole_shape_is() -> None:
    whole = SHAPES["frames"]

    assert whole.compared_with(whole) == whole.description
    resized = shape("--shape", "frames", "--messages", "500").compared_with(whole)
    assert resized.startswith("frames of 25: 500 messages, 64 users; single frames: 100 messages, 64 users. ")
    assert shape("--shape", "mixed", "--scale", "0.05").compared_with(SHAPES["mixed"]).count("5 requests/s, 30 s") == 1
