"""All shapes of load, for ``make load SHAPE=name``: those of ``shapes.yaml``, and one for each declared stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from loadtest.shapes.shape import Limit, Load, Phase, Shape


def _read() -> Iterator[Shape]:
    for name, given in yaml.safe_load(Path(__file__).with_name("shapes.yaml").read_text(encoding="utf-8")).items():
        limit = Limit(**given["limit"]) if "limit" in given else None
        yield Shape(name, given["description"], tuple(map(Phase.of_message, given["phases"])), limit)


SHAPES = {shape.name: shape for shape in _read()}
"""Each shape by its name."""
OF_STREAM = {"chat": "frames", "ski": "rides", "ads": "clicks"}


def of_stream(name: str) -> Shape:
    """The shape for a stream that is named; a declared one has none of its own."""
    if name in OF_STREAM:
        return SHAPES[OF_STREAM[name]]
    load = Load("HttpWriter", 32, 20_000, batch=50)
    description = "20,000 events in batches of 50, and all questions; one POST in ten comes again"
    return Shape(name, description, (Phase("events", (load,), stream=name, repeated=0.1, paced=True),))
