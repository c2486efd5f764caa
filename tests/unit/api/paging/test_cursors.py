"""Cursors restore their position, reveal nothing, and are valid only for their query and caller."""

from __future__ import annotations

import base64
import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.paging.cursors import REREAD_SECONDS, CursorSigner, Query
from headrace.core import keys
from headrace.core.errors import InvalidCursor

SIGNER = CursorSigner(b"k" * 32)
QUERY = Query("room", "lobby", "alice", "2025-01-01T00:00:00.000000Z", None)
POSITION = ("2025-11-21T10:00:58.722861Z#m1#abcdefghijkl",)


@given(st.lists(st.text(max_size=60), min_size=1, max_size=3))
def test_a_cursor_restores_its_position_in_any_script(position: list[str]) -> None:
    cursor = SIGNER.sign(QUERY, "before", position)

    assert SIGNER.verify(cursor, QUERY, "before", parts=len(position)) == tuple(position)


@pytest.mark.parametrize("character", ["x", '"', "я", "世", "\U0001f600"])
def test_p7_a_cursor_of_the_longest_ids_is_accepted(character: str) -> None:
    longest = character * keys.ID_LIMIT
    position = (keys.timestamp_sk("2025-11-21T10:00:58.722861Z", longest, keys.sender_tag("alice")), longest)

    cursor = SIGNER.sign(QUERY, "before", position)

    assert SIGNER.verify(cursor, QUERY, "before", parts=2) == position


@pytest.mark.parametrize(
    "other",
    [
        replace(QUERY, kind="user"),
        replace(QUERY, subject="other-room"),
        replace(QUERY, caller="mallory"),
        replace(QUERY, lower=None),
        replace(QUERY, upper="2026-01-01T00:00:00.000000Z"),
    ],
)
def test_a_cursor_of_another_query_or_caller_is_refused(other: Query) -> None:
    cursor = SIGNER.sign(QUERY, "before", POSITION)

    with pytest.raises(InvalidCursor):
        SIGNER.verify(cursor, other, "before", parts=1)


def test_a_cursor_of_the_other_direction_is_refused() -> None:
    cursor = SIGNER.sign(QUERY, "before", POSITION)

    with pytest.raises(InvalidCursor) as refusal:
        SIGNER.verify(cursor, QUERY, "after", parts=1)

    assert refusal.value.details[0].field == "after"


@given(st.data())
def test_a_cursor_with_any_bit_changed_is_refused(data: st.DataObject) -> None:
    raw = bytearray(base64.urlsafe_b64decode(SIGNER.sign(QUERY, "before", POSITION) + "=="))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    forged = base64.urlsafe_b64encode(raw).decode().rstrip("=")

    with pytest.raises(InvalidCursor):
        SIGNER.verify(forged, QUERY, "before", parts=1)


@given(st.text(max_size=80))
def test_an_unsigned_text_is_not_accepted_as_a_cursor(text: str) -> None:
    with pytest.raises(InvalidCursor):
        SIGNER.verify(text, QUERY, "before", parts=1)


def test_a_position_cannot_be_read_from_its_cursor() -> None:
    cursor = SIGNER.sign(QUERY, "before", POSITION)

    assert POSITION[0][:10].encode() not in base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def test_a_cursor_far_too_long_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(InvalidCursor):
        SIGNER.verify("A" * 100_000, QUERY, "before", parts=1)


def test_a_short_key_is_not_accepted() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        CursorSigner(b"short")


class Environment:
    """The signer of a running function, whose secret is rotated meanwhile."""

    def __init__(self, *keys: bytes) -> None:
        self.secret = list(keys)
        self.now = 0.0
        self.reads = 0
        self.signer = CursorSigner(keys[0], self._read, lambda: self.now)

    def _read(self) -> list[bytes]:
        self.reads += 1
        return self.secret

    def accepts(self, cursor: str) -> bool:
        with contextlib.suppress(InvalidCursor):
            return self.signer.verify(cursor, QUERY, "before", parts=1) == POSITION
        return False


OLD, NEW, NEWEST = b"1" * 32, b"2" * 32, b"3" * 32


def test_a_rotation_of_the_key_ends_no_walk() -> None:
    """Environments of before and after the rotation answer the requests of one walk, in any order."""
    before, after = Environment(OLD), Environment(NEW, OLD)
    before.secret = after.secret
    old = before.signer.sign(QUERY, "before", POSITION)
    new = after.signer.sign(QUERY, "before", POSITION)

    assert [before.accepts(new), before.accepts(old), after.accepts(old), after.accepts(new)] == [True] * 4
    assert before.signer.sign(QUERY, "before", POSITION) == new


def test_after_two_rotations_a_cursor_is_refused() -> None:
    cursor = CursorSigner(OLD).sign(QUERY, "before", POSITION)

    assert not Environment(NEWEST, NEW).accepts(cursor)


def test_forged_cursors_do_not_read_the_key_each_time() -> None:
    environment = Environment(OLD)
    for second in (0.0, 1.0, REREAD_SECONDS - 1, REREAD_SECONDS):
        environment.now = second
        assert not environment.accepts("forged")

    assert environment.reads == 2


def test_a_cursor_of_the_known_key_reads_no_key() -> None:
    environment = Environment(OLD)

    assert environment.accepts(CursorSigner(OLD).sign(QUERY, "before", POSITION))
    assert environment.reads == 0
