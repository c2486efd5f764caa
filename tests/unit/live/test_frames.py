"""Frames of messages: their order, their length, and what they report as missed."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.live import copies, frames
from tests.worlds.senders import NOW

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=2000)


@given(st.text(min_size=1, max_size=128), st.lists(texts, max_size=60), st.booleans())
def test_frames_contain_every_item_in_order_within_the_limit(room: str, messages: list[str], missed: bool) -> None:
    room = room.encode("utf-8", "replace").decode()
    items = [{"key": f"k{at}", "timestamp": NOW, "message": text} for at, text in enumerate(messages)]

    made = copies.frames(room, items, "p1", missed=missed)

    assert all(len(frame) <= frames.FRAME_BYTES for frame in made)
    parsed = [copies.parse(frame) for frame in made]
    assert [item for copy in parsed for item in copy.items.values()] == items
    assert {(copy.room_id, copy.position) for copy in parsed} <= {(room, "p1")}
    assert [copy.missed for copy in parsed] == [missed and at == len(made) - 1 for at in range(len(made))]
    sizes = [len(frame) for frame in made]
    assert all(first + second > frames.FRAME_BYTES for first, second in itertools.pairwise(sizes))


def test_an_item_over_the_size_of_a_frame_is_reported_as_missed() -> None:
    def item(text: str) -> dict[str, Any]:
        return {"key": "k", "timestamp": NOW, "message": text}

    links = [(("a",), "p1-b")]
    made = [json.loads(each) for each in copies.frames("r", [item("x" * 40_000), item("small")], "p1", links=links)]

    assert [(len(each["items"]), each.get("missed"), "follows" in each) for each in made] == [(1, True, False)]


def test_the_last_frame_of_a_batch_follows_the_frame_before_it_and_says_what_was_missed() -> None:
    """A client that gets a frame with ``missed`` resumes unless it leads on."""
    items = [{"key": f"k{at}", "timestamp": NOW, "message": "x" * 4000} for at in range(20)]
    links = [(("a", "e"), "p1-b"), (("c",), "p2-d")]

    made = [json.loads(each) for each in copies.frames("r", items, "p9", links=links, missed=True)]

    assert [
        (each.get("follows"), each.get("through"), each["position"], each.get("missed"), len(each["items"]))
        for each in made
    ] == [
        (None, None, "p9", None, 7),
        (None, None, "p9", None, 7),
        ("a", ["e"], "p1-b", None, 6),
        ("c", None, "p2-d", True, 0),
    ]


def test_a_frame_names_only_the_newest_of_many_frames_that_it_joins() -> None:
    made = frames.frame("r", [], "p1-z", [f"t{number}" for number in range(50)])

    assert (json.loads(made)["follows"], json.loads(made)["through"]) == (
        "t0",
        [f"t{number}" for number in range(30, 50)],
    )


@pytest.mark.parametrize(
    ("links", "chains"),
    [
        ({}, []),
        ({"a": "p1-b"}, [(("a",), "p1-b")]),
        ({"b": "p2-c", "a": "p1-b"}, [(("a", "b"), "p2-c")]),
        ({"": "p1-b", "c": "p3-d", "b": "p2-c"}, [(("", "b", "c"), "p3-d")]),
        ({"a": "p1-b", "c": "p3-d"}, [(("a",), "p1-b"), (("c",), "p3-d")]),
        ({"x": "p1-a", "a": "p1-b", "b": "p2-a"}, [(("x", "a", "b"), "p2-a")]),
    ],
)
def test_frames_that_follow_each_other_are_one_step(links: dict[str, str], chains: list[copies.Link]) -> None:
    assert copies.LiveCopy("r", links=links).chains() == chains


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
        b'{"roomId":"r","items":[],"follows":1}',
        b"[" * 100_000,
    ],
)
def test_an_invalid_frame_is_not_parsed(body: bytes) -> None:
    with pytest.raises(ValueError):
        copies.parse(body)
