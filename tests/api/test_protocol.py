"""Broken WebSocket frames of a client never end in a fault of a whole stage, and disturb no other connection."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.conftest import CASES, Report
from tests.e2e.conftest import RunningStage
from tests.worlds.raw_websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    LOST,
    NO_CODE,
    PING,
    TEXT,
    RawConnection,
    frame,
    text,
)

END = text({"action": "ping", "requestId": "end"})


def connection(stage: RunningStage) -> RawConnection:
    return RawConnection(stage.where["websocket_url"], stage.token("alice", "chat:read", "chat:write"))


@pytest.mark.timeout(3600)
def test_any_order_of_frames_is_answered_or_closed(platform: RunningStage, report: Report) -> None:
    """The codes are those for a client's mistake: 1011 would be a fault of the server."""
    one_frame = st.builds(
        frame,
        st.sampled_from([CONTINUATION, TEXT, TEXT, BINARY, 3, CLOSE, PING, 10, 15]),
        st.binary(max_size=140) | st.just(b'{"action": "ping"}'),
        final=st.booleans(),
        masked=st.sampled_from([True, True, True, False]),
        reserved=st.sampled_from([0, 0, 0, 4]),
    )
    sent = 0

    @settings(
        max_examples=CASES // 25 if CASES else 10,
        deadline=None,
        database=None,
        derandomize=not CASES,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(one_frame, min_size=1, max_size=8))
    def run(frames: list[bytes]) -> None:
        nonlocal sent
        sent += len(frames)
        with connection(platform) as one:
            one.send(b"".join([*frames, END]))
            end = one.until_end("end")
        allowed = {1002, 1003, 1007, 1009, NO_CODE, LOST}
        assert not isinstance(end, int) or end in allowed or 1000 <= end < 1011 or 3000 <= end < 5000, end

    with connection(platform) as other:
        run()
        other.send(END)
        assert other.until_end("end")["type"] == "pong"

    report(f"WebSocket: {sent} frames in any order, 0 wrong")
