"""Windows are cut into the fewest closed slots, without a gap or an overlap."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.core import times
from headrace.features.analytics.time_slots import STEPS, TEN_SECONDS, Slot, Span, pieces

START = 1_763_719_200


@given(
    st.integers(START * times.SECOND - times.DAY, START * times.SECOND),
    st.integers(times.SECOND, 31 * times.DAY),
    st.integers(START - 86_400, START + 40 * 86_400),
)
def test_pieces_cover_a_window_once_and_slots_are_closed(start: int, length: int, closed_until: int) -> None:
    window = Span(start, start + length)

    found = pieces(window, closed_until)

    spans = [slot.span.within(window) for slot in found.slots] + [span for span in [found.tail] if span is not None]
    assert (spans[0].start, spans[-1].end) == window
    assert all(left.end == right.start for left, right in pairwise(spans))
    assert all(slot.end <= closed_until and slot.start % slot.step == 0 for slot in found.slots)
    assert all(slot.step == TEN_SECONDS or slot.span.within(window) == slot.span for slot in found.slots)
    if found.tail is not None:
        assert found.tail.start > (closed_until - TEN_SECONDS) * times.SECOND
    assert len(found.slots) <= 31 + 2 * (1 + 5 + 9 + 5 + 23)


def test_a_whole_day_is_one_slot_that_is_merged_from_shorter_ones() -> None:
    midnight = START - START % 86_400
    window = Span(midnight * times.SECOND, (midnight + 86_400) * times.SECOND)

    (day,) = pieces(window, midnight + 86_400).slots

    assert day == Slot(midnight, 86_400)
    for slot in (day, Slot(midnight, 3600), Slot(midnight, 600), Slot(midnight, 60)):
        parts = slot.parts()
        assert (parts[0].start, parts[-1].end) == (slot.start, slot.end)
        assert {part.step for part in parts} == {STEPS[STEPS.index(slot.step) - 1]}
    assert Slot(midnight, 10).parts() == []
