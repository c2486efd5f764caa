"""Broken WebSocket frames and handshakes: each gets its close code, and none disturbs other connections."""

from __future__ import annotations

import pytest
import websocket
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadtest.client.websocket import SUBPROTOCOL
from tests.api.conftest import CASES, Report
from tests.api.raw_websocket import (
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
from tests.e2e.conftest import RunningStage

FRAME, MESSAGE = 32 * 1024, 128 * 1024
END = text({"action": "ping", "requestId": "end"})
HALVES = frame(TEXT, b'{"action": "ping", ', final=False), frame(CONTINUATION, b'"requestId": "end"}')
PIECE = frame(TEXT, b" " * FRAME, final=False)
MORE = frame(CONTINUATION, b" " * FRAME, final=False)

CLOSED = {
    "invalid UTF-8": (frame(TEXT, b"\xff\xfe"), 1007),
    "invalid UTF-8 over two fragments": (frame(TEXT, b"\xc3", final=False) + frame(CONTINUATION, b"\x28"), 1007),
    "a binary frame": (frame(BINARY, b'{"action": "ping"}'), 1003),
    "a frame that is too long": (frame(TEXT, b" " * (FRAME + 1)), 1009),
    "a message that is too long": (PIECE + MORE * (MESSAGE // FRAME), 1009),
    "an unmasked frame": (frame(TEXT, b'{"action": "ping"}', masked=False), 1002),
    "a reserved opcode": (frame(3, b"{}"), 1002),
    "a reserved control opcode": (frame(11), 1002),
    "a reserved bit": (frame(TEXT, b"{}", reserved=4), 1002),
    "a continuation of nothing": (frame(CONTINUATION, b"{}"), 1002),
    "a new message inside a message": (HALVES[0] + END, 1002),
    "a fragmented ping": (frame(PING, b"a", final=False), 1002),
    "a ping that is too long": (frame(PING, b"a" * 126), 1002),
    "a close code that does not exist": (frame(CLOSE, (999).to_bytes(2, "big")), 1002),
    "a close frame of one byte": (frame(CLOSE, b"\x03"), 1002),
    "a close frame": (frame(CLOSE, (1000).to_bytes(2, "big")), 1000),
}
ANSWERED = {
    "a fragmented message": HALVES[0] + HALVES[1],
    "a ping between fragments": HALVES[0] + frame(PING, b"x") + HALVES[1],
    "an empty fragment": HALVES[0] + frame(CONTINUATION, final=False) + HALVES[1],
    "the longest frame": frame(TEXT, b'{"action": "ping", "requestId": "end"}'.ljust(FRAME)),
    "the longest message": frame(TEXT, b'{"action": "ping", "requestId": "end"}'.ljust(FRAME), final=False)
    + MORE * (MESSAGE // FRAME - 2)
    + frame(CONTINUATION, b" " * FRAME),
    "an empty message": frame(TEXT) + END,
}
HANDSHAKES = {
    "no subprotocol": (None, 401),
    "an unknown subprotocol": (["chat.v9", "TOKEN"], 401),
    "a subprotocol without a token": ([SUBPROTOCOL], 401),
    "a token without a subprotocol": (["TOKEN"], 401),
    "a third subprotocol": ([SUBPROTOCOL, "TOKEN", "more"], 401),
    "a token before the subprotocol": (["TOKEN", SUBPROTOCOL], 401),
}


def connection(stage: RunningStage) -> RawConnection:
    return RawConnection(stage.where["websocket_url"], stage.token("alice", "chat:read", "chat:write"))


@pytest.mark.parametrize("name", CLOSED)
def test_a_broken_frame_closes_its_connection_only(name: str, stage: RunningStage) -> None:
    broken, code = CLOSED[name]

    with connection(stage) as other, connection(stage) as one:
        one.send(broken)
        assert one.until_end("end") == code
        other.send(END)
        assert other.until_end("end")["type"] == "pong"


@pytest.mark.parametrize("name", ANSWERED)
def test_an_unusual_but_valid_frame_is_answered(name: str, stage: RunningStage) -> None:
    with connection(stage) as one:
        one.send(ANSWERED[name])
        assert one.until_end("end")["type"] == "pong"


@pytest.mark.parametrize("name", HANDSHAKES)
def test_a_wrong_handshake_is_refused(name: str, stage: RunningStage) -> None:
    offered, status = HANDSHAKES[name]
    token = stage.token("alice", "chat:read")
    subprotocols = [each.replace("TOKEN", token) for each in offered or []]

    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        websocket.create_connection(stage.where["websocket_url"], timeout=60.0, subprotocols=subprotocols or None)

    assert refused.value.status_code == status


@pytest.mark.timeout(3600)
def test_any_order_of_frames_is_answered_or_closed(stage: RunningStage, report: Report) -> None:
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
        with connection(stage) as one:
            one.send(b"".join([*frames, END]))
            end = one.until_end("end")
        allowed = {1002, 1003, 1007, 1009, NO_CODE, LOST}
        assert not isinstance(end, int) or end in allowed or 1000 <= end < 1011 or 3000 <= end < 5000, end

    run()

    report(f"WebSocket: {sent + len(CLOSED) + len(ANSWERED)} broken or unusual frames, 0 wrong")
