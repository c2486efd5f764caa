"""The guard of WebSocket frames passes frames within the limits, for any split of the bytes."""

from __future__ import annotations

import struct
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from localstage.gateway.frames import FrameGuard

TEXT, CONTINUATION, CLOSE, PING = 1, 0, 8, 9
MAX_FRAME, MAX_MESSAGE = 300, 1000
WAKE_UP = b"\x89\x00"


class Collector:
    """Records the bytes that the guard passes on."""

    def __init__(self) -> None:
        self.data = b""
        self.ended = False

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.data += data
        return False, b""

    def feed_eof(self) -> None:
        self.ended = True


def frame(opcode: int, size: int, *, final: bool = True, masked: bool = True) -> bytes:
    mask = 0x80 if masked else 0
    first = opcode | (0x80 if final else 0)
    if size < 126:
        head = struct.pack("!BB", first, mask | size)
    elif size < 65536:
        head = struct.pack("!BBH", first, mask | 126, size)
    else:
        head = struct.pack("!BBQ", first, mask | 127, size)
    return head + (b"mask" if masked else b"") + b"x" * size


def fed(stream: bytes, cuts: list[int] | None = None) -> tuple[bytes, FrameGuard]:
    collector = Collector()
    guard = FrameGuard(collector, max_frame=MAX_FRAME, max_message=MAX_MESSAGE)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts or []), len(stream)]
    for begin, end in pairwise(edges):
        guard.feed_data(stream[begin:end])
    return collector.data, guard


@given(
    sizes=st.lists(st.integers(0, MAX_FRAME), max_size=5),
    cuts=st.lists(st.integers(0, 5000), max_size=12),
)
def test_frames_within_the_limits_pass_untouched(sizes: list[int], cuts: list[int]) -> None:
    stream = b"".join(frame(TEXT, size) for size in sizes)

    passed, guard = fed(stream, cuts)

    assert passed == stream
    assert not guard.close_code


@given(
    size=st.one_of(st.integers(MAX_FRAME + 1, 400), st.just(70_000)),
    after=st.lists(st.integers(0, 400), max_size=3),
    cuts=st.lists(st.integers(0, 80_000), max_size=12),
)
def test_after_a_frame_over_the_limit_only_control_frames_pass(size: int, after: list[int], cuts: list[int]) -> None:
    before, close = frame(TEXT, 10), frame(CLOSE, 2)
    stream = before + frame(TEXT, size) + b"".join(frame(TEXT, one) for one in after) + close

    passed, guard = fed(stream, cuts)

    assert guard.close_code == 1009
    assert passed == before + WAKE_UP + close


def test_fragments_count_together_and_control_frames_between_them_do_not() -> None:
    fits = [frame(TEXT, 300, final=False), frame(PING, 100), frame(CONTINUATION, 300, final=False)]
    fits += [frame(CONTINUATION, 300, final=False)]

    passed, guard = fed(b"".join([*fits, frame(CONTINUATION, 100)]) * 2)
    assert not guard.close_code
    assert len(passed) == 2 * len(b"".join([*fits, frame(CONTINUATION, 100)]))

    passed, guard = fed(b"".join([*fits, frame(CONTINUATION, 101)]))
    assert guard.close_code == 1009
    assert passed == b"".join(fits) + WAKE_UP


@given(opcode=st.sampled_from([TEXT, CONTINUATION, PING]), cuts=st.lists(st.integers(0, 200), max_size=12))
def test_a_frame_without_a_mask_is_refused(opcode: int, cuts: list[int]) -> None:
    before, close = frame(TEXT, 10), frame(CLOSE, 2)

    passed, guard = fed(before + frame(opcode, 5, masked=False) + frame(TEXT, 5) + close, cuts)

    assert guard.close_code == 1002
    assert passed == before + WAKE_UP + close


def test_the_end_of_the_stream_passes() -> None:
    collector = Collector()

    FrameGuard(collector).feed_eof()

    assert collector.ended
