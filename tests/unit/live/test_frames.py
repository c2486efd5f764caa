"""Frames of messages: their order, their length, and what they report as missed."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.live import frames
from tests.worlds.senders import NOW

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=2000)


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=128), st.lists(texts, max_size=60), st.booleans())
def test_frames_contain_every_item_in_order_within_the_limit(room: str, messages: list[str], missed: bool) -> None:
    room = room.encode("utf-8", "replace").decode()
    items = [{"key": f"k{at}", "timestamp": NOW, "message": text} for at, text in enumerate(messages)]

    made = frames.frames(room, items, "p1", missed=missed)

    assert all(len(frame) <= frames.FRAME_BYTES for frame in made)
    parsed = [frames.parse(frame) for frame in made]
    assert [item for copy in parsed for item in copy.items.values()] == items
    assert {(copy.room_id, copy.position) for copy in parsed} <= {(room, "p1")}
    assert [copy.missed for copy in parsed] == [missed and not at for at in range(len(made))]
    sizes = [len(frame) for frame in made]
    assert all(first + second > frames.FRAME_BYTES for first, second in itertools.pairwise(sizes))


def test_an_item_over_the_size_of_a_frame_is_reported_as_missed() -> None:
    def item(text: str) -> dict[str, Any]:
        return {"key": "k", "timestamp": NOW, "message": text}

    made = [json.loads(each) for each in frames.frames("r", [item("x" * 40_000), item("small")], "p1")]

    assert [(len(each["items"]), each.get("missed")) for each in made] == [(1, True)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b'"x"',
        b"{}",
        b'{"roomId":1,"items":[]}',
        b'{"roomId":"r","items":{}}',
        b'{"roomId":"r","items":[1]}',
        b'{"roomId":"r","items":[{"key":"k"}]}',
        b'{"roomId":"r","items":[],"position":1}',
        b"[" * 100_000,
    ],
)
def test_an_invalid_frame_is_not_parsed(body: bytes) -> None:
    with pytest.raises(ValueError):
        frames.parse(body)
