"""The logs contain no messages, tokens or passwords."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.clients import Client, message, now, unique
from tests.e2e.conftest import RunningStage


def test_logs_contain_no_messages_tokens_or_passwords(platform: RunningStage) -> None:
    alice, room, secret_text = Client(platform), unique("room"), unique("private-text")
    socket = alice.connect()
    socket.request({"action": "sendMessage", **message(room, secret_text)})
    socket.request({"action": "sendMessage", **message("bad#room", secret_text)})
    alice.http("POST", f"/rooms/{room}/messages", {"message": secret_text, "timestamp": now(hours=2)})
    alice.wait_for(room, 1)

    password = json.loads((platform.state_dir / "secrets.json").read_text())
    logs = "".join(path.read_text(errors="replace") for path in (platform.state_dir / "logs").glob("*.log"))
    logs += platform.output.read_text()

    assert secret_text not in logs
    assert alice.token not in logs
    assert alice.token.rpartition(".")[2] not in logs
    for private in _texts(password):
        assert private not in logs


def _texts(value: Any) -> list[str]:
    """The generated secrets in ``secrets.json``: every text that is long enough."""
    if isinstance(value, dict):
        return [text for name, item in value.items() if name != "spec" for text in _texts(item)]
    return [value] if isinstance(value, str) and len(value) >= 20 and " " not in value and "{" not in value else []
