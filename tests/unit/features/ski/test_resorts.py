"""Resorts are read with the errors of every other table."""

from __future__ import annotations

import pytest

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.features.ski.dynamodb import Resorts
from tests.unit.storage.test_dynamodb_client import THROTTLED, environment, played
from tests.worlds.played_dynamodb import refusal


@pytest.mark.usefixtures(environment.__name__)
def test_reading_a_resort_maps_throttling_and_outages_as_every_adapter() -> None:
    with pytest.raises(StoreThrottled):
        Resorts(played(lambda _: THROTTLED), "Resorts").get(7)
    with pytest.raises(StoreUnavailable) as outage:
        Resorts(played(lambda _: refusal("InternalServerError", 500)), "Resorts").get(7)

    assert not isinstance(outage.value, StoreThrottled)
