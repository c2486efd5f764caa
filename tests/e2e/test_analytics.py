"""Analytics as a client sees them, from sent messages to counted ones."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import RunningStage

SETTLE = 10


def a_past_hour() -> datetime:
    """An hour without messages of other tests or earlier runs."""
    return datetime(2003, 1, 1, tzinfo=UTC) + timedelta(hours=random.randrange(100_000))


def iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_p9_sent_messages_and_late_messages_are_counted(platform: RunningStage) -> None:
    producer = Client(platform, None, "events:write", "chat:read")
    analyst = Client(platform, None, "analytics:read")
    hour, rooms = a_past_hour(), [unique("room"), unique("room")]

    def sent(number: int) -> dict[str, Any]:
        at = iso(hour + timedelta(minutes=3 * number))
        return message(rooms[number % 2], timestamp=at, userId=f"user-{number % 3}", username="x")

    def get(route: str, **query: str) -> Any:
        window = {"from": iso(hour), "to": iso(hour + timedelta(hours=1)), **query}
        status, body, _ = analyst.http("GET", f"/analytics/{route}", **window)
        assert status == 200, body
        return body

    _, answer, _ = producer.http("POST", "/messages/batch", {"events": [sent(number) for number in range(12)]})
    assert [result.get("lane") for result in answer["results"]] == ["main"] * 12
    found = until(lambda: get("window", top="2"), lambda body: body["totalMessages"] == 12)

    assert found["uniqueUsers"] == 3
    assert found["topUsers"] == [{"userId": "user-0", "messages": 4}, {"userId": "user-1", "messages": 4}]
    assert found["topRooms"] == [{"roomId": room, "messages": 6} for room in sorted(rooms)]
    assert get("active-users")["uniqueUsers"] == 3
    assert get("window", roomId=rooms[0])["totalMessages"] == 6
    assert get("window", userId="user-1", roomId=rooms[1])["totalMessages"] == 2
    points = get("series", step="60")["points"]
    assert [point["messages"] for point in points] == [1 if at % 3 == 0 and at < 36 else 0 for at in range(60)]

    # After the settling time the marks have expired, so the next answer is cached.
    time.sleep(SETTLE + 3)
    assert [get("window")["totalMessages"] for _ in range(3)] == [12, 12, 12]
    producer.http("POST", "/messages/batch", {"events": [sent(12)]})
    until(lambda: len(producer.room(rooms[0])), lambda count: count == 7)
    until(lambda: get("window")["totalMessages"], lambda count: count == 13, SETTLE)
    assert get("window", roomId=rooms[0])["totalMessages"] == 7
