"""What the page for authors of clients says about the API is true."""

from __future__ import annotations

import re

from tests.unit.template_stack import ROOT
from tests.worlds.reference import HTTP, WEBSOCKET

PAGE = (ROOT / "docs" / "how-to" / "write-a-client.md").read_text()


def test_the_routes_and_frames_that_a_chat_app_needs_exist() -> None:
    table = PAGE.split("## What a chat app needs")[1].split("\n## ")[0]
    routes = re.findall(r"`([A-Z]+) (/[^`]+)`", table)
    frames = set(re.findall(r"`([a-z]\w+)`", table))

    assert len(routes) > 10
    assert [path for method, path in routes if method.lower() not in HTTP["paths"].get(path, {})] == []
    assert {"subscribe", "resume", "sendMessage", "authenticate"} <= frames <= WEBSOCKET["operations"].keys()
