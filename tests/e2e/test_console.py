"""The console in Chromium, on a whole stage. ``make e2e CONSOLE=1`` is the whole form, with the broker killed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, RunningStage
from tests.e2e.test_typescript_client import CHROMIUM, node

FILE = ROOT / "console" / "tests" / "console.test.mjs"


@pytest.mark.timeout(300)
def test_the_console_shows_what_is_kept_and_two_users_talk(platform: RunningStage, typescript_client: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("Chromium is missing, so the console was not tried. Install it: apt-get install chromium")
    printed = node(
        platform,
        "--test",
        "--test-force-exit",
        "--test-timeout=200000",
        FILE,
        folder=typescript_client,
        CHROMIUM=CHROMIUM,
    )

    found = re.findall(r"^console: .*$", printed, re.M)
    print("\n".join(found))
    assert len(found) == (2 if os.environ.get("CONSOLE") else 1), printed
