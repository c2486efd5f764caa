"""Ad clicks on a whole stage are counted once and listed, until they are taken back."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core import times
from tests.e2e.clients import Client, unique, until
from tests.e2e.conftest import RunningStage

WRITER, READER = "events:write", "analytics:read"


@pytest.fixture(scope="module")
def producer(platform: RunningStage) -> Client:
    return Client(platform, None, WRITER, READER)


def get(client: Client, path: str, **query: str) -> Any:
    status, body, _ = client.http("GET", path, **query)
    assert status == 200, body
    return body


def write(client: Client, clicks: list[dict[str, Any]]) -> None:
    status, body, _ = client.http("POST", "/clicks/batch", {"events": clicks})
    assert (status, {each.get("lane") for each in body["results"]}) == (202, {"main"}), body


def later(click: dict[str, Any]) -> dict[str, Any]:
    return {**click, "adId": f"{click['adId']}-later", "clickId": unique("click")}


def test_clicks_that_are_taken_back_are_in_no_answer_before_or_after_they_are_sent(producer: Client) -> None:
    ad = unique("ad")
    start = times.SystemClock().now() // times.HOUR * times.HOUR - 2 * times.HOUR
    clicks = [
        {
            "adId": ad,
            "userId": f"user-{number}",
            "adType": "banner",
            "clickedAt": times.iso(start + number * times.SECOND),
            "clickId": f"{ad}-{number}",
        }
        for number in range(6)
    ]
    window = {"from": times.iso(start), "to": times.iso(start + times.HOUR), "step": "3600"}

    def take_back(*taken: dict[str, Any]) -> None:
        status, body, _ = producer.http("POST", "/clicks/take-back", {"events": taken})
        assert (status, {each.get("lane") for each in body["results"]}) == (202, {"main"}), body

    take_back(clicks[5])
    write(producer, clicks[:5])
    producer.wait_for_items(f"/ads/{ad}/clicks", 5)
    write(producer, [clicks[5], later(clicks[0])])
    producer.wait_for_items(f"/ads/{ad}-later/clicks", 1)
    assert get(producer, f"/ads/{ad}/stats", **window)["clicks"] == 5
    take_back(*clicks[:2])
    stats = until(lambda: get(producer, f"/ads/{ad}/stats", **window), lambda found: found["clicks"] == 3)

    assert (stats["uniqueUsers"], [point["clicks"] for point in stats["points"]]) == (3, [3])
    write(producer, [*clicks[:2], later(clicks[1])])  # sent again
    producer.wait_for_items(f"/ads/{ad}-later/clicks", 2)
    items = get(producer, f"/ads/{ad}/clicks")["items"]
    assert [item["clickId"] for item in items] == [each["clickId"] for each in reversed(clicks[2:5])]
    assert get(producer, f"/ads/{ad}/stats", **window)["clicks"] == 3
