"""What is in no docstring: ``texts.md`` has a section for each area and each status, ``tables.yaml`` has tables."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent


@cache
def _sections() -> dict[str, str]:
    text = (FOLDER / "texts.md").read_text()
    found = re.split(r"^# (.+)\n", text, flags=re.M)
    return {title: " ".join(body.split("\0")).strip() for title, body in zip(found[1::2], found[2::2], strict=True)}


def text(title: str, missing: str | None = None) -> str:
    """The section of that title, as Markdown; ``missing`` if there is none.

    Raises:
        KeyError: there is none, and nothing to say instead.
    """
    return _sections()[title] if missing is None else _sections().get(title, missing)


def first_line(title: str) -> str:
    """The first paragraph of a section, in one line."""
    return " ".join(text(title).split("\n\n")[0].split())


@cache
def _tables() -> Any:
    return yaml.safe_load((FOLDER / "tables.yaml").read_text(encoding="utf-8"))


def table(name: str) -> dict[str, Any]:
    """The table of that name."""
    found: dict[str, Any] = _tables()[name]
    return found
