"""JSON in the shortest form, and a strict reader."""

from __future__ import annotations

import json
from typing import Any

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False).encode
encode_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False, allow_nan=False).encode


def decode(text: str) -> Any:
    """The value in ``text``.

    Raises:
        ValueError: not JSON; ``NaN`` and ``Infinity`` are not.
        RecursionError: nested too deeply.
    """
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
