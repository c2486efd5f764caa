"""Times are parsed from ISO 8601 or epoch milliseconds into one canonical text; UUIDv7 ids contain their time."""

from __future__ import annotations

import contextlib
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core import times

MICROS = st.integers(min_value=0, max_value=253_402_300_799_999_999)


@given(MICROS)
def test_a_time_is_parsed_from_its_text(micros: int) -> None:
    assert times.parse_iso(times.iso(micros)) == micros == times.micros_of(times.iso(micros))


@given(MICROS, MICROS)
def test_text_order_is_time_order(one: int, other: int) -> None:
    """Fault 11: variable-width times sort wrongly; ours have one width."""
    assert (times.iso(one) < times.iso(other)) == (one < other)
    assert len(times.iso(one)) == len(times.iso(other)) == 27


@given(MICROS)
def test_every_canonical_text_is_known_as_canonical(micros: int) -> None:
    assert times.is_canonical(times.iso(micros))


@pytest.mark.parametrize(
    ("given_text", "canonical"),
    [
        ("2025-11-21T10:00:58.722861Z", "2025-11-21T10:00:58.722861Z"),
        ("2025-11-21T10:00:58Z", "2025-11-21T10:00:58.000000Z"),
        ("2025-11-21T10:00Z", "2025-11-21T10:00:00.000000Z"),
        ("2025-11-21t10:00:58.5z", "2025-11-21T10:00:58.500000Z"),
        ("2025-11-21 10:00:58,5+01:00", "2025-11-21T09:00:58.500000Z"),
        ("2025-11-21T10:00:58.1234567Z", "2025-11-21T10:00:58.123456Z"),
        ("2025-11-20T23:30:00-1030", "2025-11-21T10:00:00.000000Z"),
        (1763719258722, "2025-11-21T10:00:58.722000Z"),
        ("1763719258722", "2025-11-21T10:00:58.722000Z"),
        (0, "1970-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_is_accepted_as_iso_with_a_zone_or_as_epoch_milliseconds(given_text: object, canonical: str) -> None:
    assert times.parse(given_text) == canonical


@pytest.mark.parametrize(
    "value",
    [
        "2025-11-21T10:00:58",
        "2025-11-21",
        "yesterday",
        "",
        "2025-13-01T00:00:00Z",
        "2025-02-30T00:00:00.000000Z",
        "2025-11-21T10:00:58.Z",
        "1969-12-31T23:59:59.000000Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2025-11-21T10:00:60Z",
        "２０２５-11-21T10:00:58Z",
        "2025-11-21T10:00:58Z" + " " * 100,
        -1,
        10**18,
        "9" * 16,
        "٣",
        True,
        1.5,
        None,
        [],
    ],
)
def test_a_text_without_a_time_and_zone_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="the time must be"):
        times.parse(value)


@given(
    st.one_of(st.text(max_size=40), st.integers(), st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", fullmatch=True))
)
def test_any_value_is_a_canonical_time_or_a_value_error(value: object) -> None:
    with contextlib.suppress(ValueError):
        assert times.is_canonical(times.parse(value))


@given(MICROS)
def test_a_new_id_is_a_uuid7_that_holds_its_time(micros: int) -> None:
    made = times.new_message_id(micros)

    assert uuid.UUID(made).version == 7
    assert uuid.UUID(made).variant == uuid.RFC_4122
    assert times.uuid7_micros(made) == micros // 1000 * 1000


def test_new_ids_differ() -> None:
    assert len({times.new_message_id(0) for _ in range(1000)}) == 1000


@pytest.mark.parametrize("text", [str(uuid.UUID(int=7)), "a1b2c3d4-0000-4000-8000-000000000007", "m-1", "", "x" * 36])
def test_other_ids_hold_no_time(text: str) -> None:
    assert times.uuid7_micros(text) is None


def test_the_system_clock_returns_utc() -> None:
    before = datetime.now(UTC)

    now = times.SystemClock().now()

    assert before <= datetime.fromtimestamp(now / times.SECOND + 0.001, UTC)
