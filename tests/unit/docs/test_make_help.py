"""`make` alone prints a list that a person can read: at most 45 targets, at most 100 columns wide."""

import re
import subprocess

from tests.unit.template_stack import ROOT


def test_make_lists_at_most_45_targets_in_lines_of_at_most_100_columns() -> None:
    printed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert len(re.findall(r"^  [a-z0-9-]+ ", printed, re.M)) <= 45
    assert [line for line in printed.splitlines() if len(line) > 100] == []
