"""The tables of rooms and memberships in the DynamoDB emulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.tables import described, index, made

ROOMS = "Rooms"
MEMBERSHIPS = "Memberships"


@pytest.fixture
def tables(dynalite: str) -> Iterator[Any]:
    members = index("RoomMembers", "roomId", "userId", projected=())
    with made(described(ROOMS, "roomId"), described(MEMBERSHIPS, "userId", "roomId", indexes=(members,))) as dynamodb:
        yield dynamodb
