"""Each error that the reference lists has a test. What functions answer is listed: see ``tests/conftest.py``."""

from __future__ import annotations

import re
from pathlib import Path

from tests.worlds.tracked import tracked

ROOT = Path(__file__).parents[3]


def test_each_listed_error_has_a_test() -> None:
    """Codes are those of functions. Statuses are API Gateway's own, as the local stage answers them."""
    page = (ROOT / "docs" / "reference" / "http-api.md").read_text().partition("## Errors")[2].partition("\n## ")[0]
    texts = {path: path.read_text() for path in tracked(ROOT / "tests", "test_*.py") if path != Path(__file__)}
    tests = "".join(texts.values())
    gateway = "".join(text for path, text in texts.items() if "gateway" in path.name)

    codes, statuses = re.findall(r"^- `(\w+)`", page, re.M), re.findall(r"^\| (\d+) \|", page, re.M)

    assert len(codes) > 10
    assert [code for code in codes if f'"{code}"' not in tests] == []
    assert len(statuses) > 5
    assert [status for status in statuses if not re.search(rf"\b{status}\b", gateway)] == []
