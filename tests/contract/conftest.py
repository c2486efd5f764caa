"""Real parts for the contract suites, started once per run and only when a test asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rabbit import Rabbit


@pytest.fixture(scope="session")
def rabbit() -> Iterator[Rabbit]:
    broker = Rabbit()
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()
