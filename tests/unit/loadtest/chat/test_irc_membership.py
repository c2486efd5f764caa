"""IRC logs have membership intervals by one rule; the platform computes the same intervals from an import."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from headrace.streams.chat.rooms.memberships import fold
from loadtest.chat.irc_log import read_log
from loadtest.chat.irc_membership import OPEN, Channel, channel_of

SAMPLES = Path(__file__).with_name("irc")
REAL = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "irc"
LOGS = sorted(SAMPLES.glob("*.log")) + sorted(REAL.glob("*.log"))

SAID = "[10:0{}] <{}> {}"
JOIN, LEAVE = "=== {0} [~{0}@host]  has joined #ubuntu", "=== {0} [~{0}@host]  has left #ubuntu [bye]"
RENAME = "=== {} is now known as {}"


def channel(tmp_path: Path, *lines: str) -> Channel:
    path = tmp_path / "2004-11-15.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return channel_of(read_log(path))


def reads(channel: Channel, nick: str) -> str:
    """The texts that ``nick`` may read, one letter each."""
    return "".join(event.message for event in channel.visible(nick))


def line(minute: int, nick: str, text: str) -> str:
    return SAID.format(minute, nick, text)


def test_a_nick_first_seen_speaking_is_a_member_from_the_start(tmp_path: Path) -> None:
    log = channel(tmp_path, line(0, "a", "1"), line(1, "b", "2"), line(2, "a", "3"))

    assert reads(log, "a") == reads(log, "b") == "123"


def test_a_nick_reads_from_its_join_until_its_leave(tmp_path: Path) -> None:
    log = channel(
        tmp_path, line(0, "a", "1"), JOIN.format("b"), line(1, "a", "2"), LEAVE.format("b"), line(1, "a", "3")
    )

    assert reads(log, "b") == "2"


def test_a_nick_that_returns_reads_both_intervals(tmp_path: Path) -> None:
    log = channel(
        tmp_path, JOIN.format("b"), line(0, "a", "1"), LEAVE.format("b"), line(1, "a", "2"), JOIN.format("b"),
        line(2, "a", "3"),
    )  # fmt: skip

    assert reads(log, "b") == "13"


def test_a_rename_continues_the_interval_under_the_new_nick(tmp_path: Path) -> None:
    log = channel(
        tmp_path, JOIN.format("b"), line(0, "a", "1"), RENAME.format("b", "c"), line(1, "c", "2"), LEAVE.format("c"),
        line(2, "a", "3"),
    )  # fmt: skip

    assert (reads(log, "b"), reads(log, "c")) == ("1", "2")


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
