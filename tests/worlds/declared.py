"""Declared streams in tests: those of ``examples/streams``, and those that a test writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.features.declared import folder
from headrace.features.declared.routes import reading_of
from headrace.features.declared.stream import Events
from headrace.stage.registry import STREAMS

EXAMPLES = Path(__file__).parents[2] / "examples" / "streams"


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Events]]:
    """The streams ``doors`` and ``sensor-readings``, as a stage has them whose folder they are in."""
    with declared(monkeypatch, EXAMPLES) as events:
        yield events


class declared:  # noqa: N801 - used as a function
    """The streams of a folder, as a stage has them, until the block ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self._patch = monkeypatch
        self._path = path

    def __enter__(self) -> dict[str, Events]:
        self._patch.setenv("STREAMS_FOLDER", str(self._path))
        folder.events.cache_clear()
        for name, each in folder.events().items():
            self._patch.setitem(STREAMS, name, each.stream)
        return folder.events()

    def __exit__(self, *_: object) -> None:
        for name in folder.events():
            self._patch.delitem(STREAMS, name)
        folder.events.cache_clear()
        reading_of.cache_clear()
