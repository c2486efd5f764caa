"""IRC logs have membership intervals by one rule; the platform computes the same intervals from an import."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from headrace.streams.chat.rooms.memberships import fold
from loadtest.chat.irc_log import read_log
from loadtest.chat.irc_membership import OPEN, channel_of

SAMPLES = Path(__file__).with_name("irc")
REAL = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "irc"
LOGS = sorted(SAMPLES.glob("*.log")) + sorted(REAL.glob("*.log"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_the_platform_computes_the_intervals_of_the_rule_from_an_import(path: Path) -> None:
    log = channel_of(read_log(path))
    joins: dict[str, list[str]] = defaultdict(list)
    leaves: dict[str, list[str]] = defaultdict(list)
    for change in log.changes:
        (joins if change.kind == "JOIN" else leaves)[change.user_id].append(f"{change.timestamp}#{change.event_id}")

    folded = {
        nick: tuple((each.joined_at, each.left_at or OPEN) for each in fold(joins[nick], leaves[nick]))
        for nick in joins | leaves
    }

    assert folded == log.intervals
    assert all(log.intervals.values())
    assert len({change.event_id for change in log.changes}) == len(log.changes)
    assert channel_of(read_log(path)) == log, "a second replay would add rows"
