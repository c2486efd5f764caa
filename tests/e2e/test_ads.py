"""Ad clicks on a whole stage are counted once and listed, and invalid ones are refused by field."""

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


def test_clicks_sent_again_at_another_time_count_once_in_every_answer(producer: Client) -> None:
    ad, user = unique("ad"), unique("user")
    start = times.SystemClock().now() // times.HOUR * times.HOUR - 2 * times.HOUR
    clicks = [
        {
            "adId": ad,
            "userId": f"{user}-{number % 3}",
            "adType": "video" if number % 5 == 0 else "banner",
            "clickedAt": (start + number * times.SECOND) // 1000,
            "clickId": f"{ad}-{number:03d}",
            "address": "192.0.2.10",
        }
        for number in range(100)
    ]

    write(producer, clicks)
    assert len(producer.wait_for_items(f"/ads/{ad}/clicks", 100)) == 100
    # The last click is new; the others are sent again with another time.
    write(producer, [{**each, "clickedAt": each["clickedAt"] + 5000} for each in clicks[:99]] + [later(clicks[0])])
    producer.wait_for_items(f"/ads/{ad}-later/clicks", 1)

    window = {"from": times.iso(start), "to": times.iso(start + times.HOUR)}
    stats = get(producer, f"/ads/{ad}/stats", **window, step="3600")
    assert (stats["clicks"], stats["uniqueUsers"], stats["types"]) == (100, 3, {"banner": 80, "video": 20})
    assert [point["clicks"] for point in stats["points"]] == [100]
    top = get(producer, "/ads/top", **window, top="10000")["topAds"]
    assert {"adId": ad, "clicks": 100} in top
    first = get(producer, f"/ads/{ad}/clicks", limit="60")
    second = get(producer, f"/ads/{ad}/clicks", limit="60", before=first["next"])
    found = [item["clickId"] for item in first["items"] + second["items"]]
    assert found == [each["clickId"] for each in reversed(clicks)]
    assert (first["hasMore"], second["hasMore"]) == (True, False)
    assert len(get(producer, f"/users/{user}-1/clicks", limit="200")["items"]) == 33
    assert "192.0.2.10" not in str(first)


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
