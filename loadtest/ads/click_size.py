"""The size of ad clicks on the broker, encoded by the layer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "layers" / "headrace"))

CORRELATION_ID = "UTq9Ahi6IAMESsA="
HASH = "Zm9vYmFyYmF6cXV4"
"""A placeholder as long as the keyed hash of an address."""


def validated(clicks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events that the platform publishes for clicks of a trusted producer. Each click needs a ``clickedAt``."""
    from headrace.core.caller import SenderContext
    from headrace.core.times import parse_iso
    from headrace.streams.ads.stream import ADS

    sender = SenderContext("ad-server", "ad-server", True, parse_iso(_accepted_at(clicks)))
    bare = [{name: value for name, value in each.items() if name != "address"} for each in clicks]
    return [{**ADS.accept(each, sender).event, "h": HASH} for each in bare]


def bytes_on_the_broker(clicks: Sequence[Mapping[str, Any]]) -> int:
    """Bytes of the body that receive_http publishes for one request with ``clicks``."""
    from headrace.core.envelope import Envelope

    return len(Envelope("ads", CORRELATION_ID, _accepted_at(clicks), validated(clicks)).encode())


def _accepted_at(clicks: Sequence[Mapping[str, Any]]) -> str:
    return max(str(each["clickedAt"]) for each in clicks)
