"""A log is replayed into a whole stage, twice: its nicks read the messages of their memberships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadtest import demo
from loadtest.client.target import Target
from tests.e2e.clients import unique
from tests.e2e.conftest import RunningStage

SAMPLE = Path(__file__).resolve().parents[1] / "unit" / "loadtest" / "chat" / "irc" / "2004-11-15_03.log"


def test_a_log_replayed_twice_is_stored_once_and_read_by_its_members(
    platform: RunningStage,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = tmp_path / f"2004-11-15_{unique('log')}.log"
    log.write_bytes(SAMPLE.read_bytes())
    where = platform.where
    stage = Target(where["http_url"], where["websocket_url"], where["token_url"])
    for name, url in (("HTTP", stage.http_url), ("WS", stage.websocket_url), ("TOKEN", stage.token_url)):
        monkeypatch.setenv(f"{name}_URL", url)

    kept: list[list[dict[str, Any]]] = []
    for _ in range(2):
        assert demo.main(["--log", str(log)]) == 0
        memberships, accepted = capsys.readouterr().out.splitlines()[-2:]
        assert memberships == "memberships: 13 nicks in 1 room read exactly the messages of their memberships"
        assert accepted.startswith("accepted=14 stored=14 lost=0 unexpected=0 duplicated=0 ")
        kept.append([item for page in stage.reader().walk_room(f"irc-channel-{log.stem}") for item in page])

    assert kept[0] == kept[1]
    assert {item["messageType"] for item in kept[0]} == {"TEXT", "JOIN", "LEAVE"}
