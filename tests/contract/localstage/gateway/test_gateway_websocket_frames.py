"""Frames of a WebSocket connection: only text, of at most 32 KB a frame and 128 KB a message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
import websocket
from websocket import ABNF

from tests.contract.localstage.gateway.gateway_fakes import (
    ALL,
    FakeFunctions,
    conversing_functions,  # noqa: F401 - a fixture
    running,
    websocket_model,
)

FRAME, MESSAGE = 32 * 1024, 128 * 1024


def fragments(size: int) -> list[ABNF]:
    """A text message of this size in the longest frames."""
    lengths = [min(FRAME, size - start) for start in range(0, size, FRAME)]
    return [
        ABNF(fin=int(number == len(lengths) - 1), opcode=0 if number else ABNF.OPCODE_TEXT, data=b"x" * length)
        for number, length in enumerate(lengths)
    ]


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([ABNF.create_frame(b"x", ABNF.OPCODE_BINARY)], 1003),
        ([ABNF.create_frame(b"x" * (FRAME + 1), ABNF.OPCODE_TEXT)], 1009),
        (fragments(MESSAGE + 1), 1009),
        (fragments(MESSAGE - 1024), None),
    ],
    ids=["binary", "a frame that is too long", "a message that is too long", "a long message in fragments"],
)
async def test_a_frame_that_aws_does_not_take_closes_its_connection_only(
    functions: FakeFunctions, frames: Sequence[ABNF], code: int | None
) -> None:
    def talk(url: str) -> None:
        one, other = (websocket.create_connection(url, timeout=10) for _ in range(2))
        for frame in frames:
            one.send_frame(frame)
        opcode, data = one.recv_data()
        found = int.from_bytes(data[:2]) if opcode == ABNF.OPCODE_CLOSE else None
        other.send("hello")
        assert (found, other.recv()) == (code, "default hello")
        one.shutdown()
        other.shutdown()

    async with running(websocket_model(*ALL), functions) as gateway:
        await asyncio.to_thread(talk, str(gateway.websocket_url))
