"""``make check`` finds the tests of what changed."""

from __future__ import annotations

from tests.checks.touched import importers
from tests.worlds.tracked import ROOT

STREAM = ROOT / "layers" / "headrace" / "headrace" / "features" / "ski" / "stream.py"


def test_a_change_is_tried_by_the_tests_that_import_it() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in importers([STREAM])}

    assert "tests/unit/features/ski/test_stream.py" in found
    assert "tests/contract/ski/test_day_counts.py" in found
    assert "tests/unit/core/test_keys.py" not in found
