"""One suite for every table of resorts: in memory, and in the local stage's DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.features.ski.dynamodb import Resorts
from headrace.features.ski.resorts import Resort
from headrace.runtime.aws import client
from tests.contract.tables import described, made
from tests.fakes.ski import MemoryResorts

RESORTS = "Resorts"


@pytest.fixture
def tables(dynalite: str) -> Iterator[Any]:
    with made(described(RESORTS, "resortID")) as dynamodb:
        yield dynamodb


@pytest.fixture(params=["memory", "dynamodb"])
def resorts(request: pytest.FixtureRequest) -> Resorts:
    if request.param == "memory":
        return MemoryResorts()
    request.getfixturevalue("tables")
    return Resorts(client("dynamodb"), RESORTS)


def test_adding_a_season_twice_keeps_one_and_the_latest_name(resorts: Resorts) -> None:
    assert resorts.get(7) == Resort(7)
    resorts.add_season(7, 2025, "Mission Ridge")
    resorts.add_season(7, 2025)
    resorts.add_season(7, 2024)

    assert resorts.get(7) == Resort(7, "Mission Ridge", frozenset({2024, 2025}))


def test_every_resort_with_a_season_is_listed_by_id(resorts: Resorts) -> None:
    for number in (10, 9, 200):
        resorts.add_season(number, 2025)
    resorts.invalidate_counts([3], 1000)

    assert [resort.resort_id for resort in resorts.every()] == [9, 10, 200]


def test_invalidation_never_moves_back_and_leaves_seasons_alone(resorts: Resorts) -> None:
    resorts.add_season(7, 2025)
    resorts.invalidate_counts([7, 8], 2000)
    resorts.invalidate_counts([7], 1000)

    assert resorts.get(7) == Resort(7, None, frozenset({2025}), 2000)
    assert resorts.get(8) == Resort(8, None, frozenset(), 2000)
