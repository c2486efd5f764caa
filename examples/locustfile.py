"""People who write in one room and read its newest page: ``locust -f examples/locustfile.py -H $HEADRACE``."""

from __future__ import annotations

import os

from locust import HttpUser, between, task


class Person(HttpUser):  # type: ignore[misc]
    wait_time = between(0.5, 1.5)

    def on_start(self) -> None:
        self.client.headers["authorization"] = f"Bearer {os.environ['TOKEN']}"
        self.client.put("/rooms/load", json={"kind": "open"})

    @task
    def write_and_read(self) -> None:
        self.client.post("/rooms/load/messages", json={"message": "hello"})
        self.client.get("/rooms/load/messages", params={"limit": 20})
