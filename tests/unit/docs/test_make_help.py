"""`make help` prints a list that a person can read, and a target takes the variables that it lists."""

import os
import re
import subprocess

from tests.unit.template_stack import ROOT


def listed(*target: str) -> str:
    command = ["make", "--no-print-directory", *target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_make_alone_lists_the_first_group_and_says_how_to_see_the_others() -> None:
    printed = listed()

    assert printed.rstrip().endswith("`make help` lists all targets.")
    assert printed.rpartition("\n\n")[0] in listed("help")
    assert len(printed.splitlines()) < 40


def test_make_help_lists_at_most_46_targets_in_lines_of_at_most_100_columns() -> None:
    printed = listed("help")

    assert len(re.findall(r"^  [a-z0-9-]+ ", printed, re.M)) <= 46
    assert [line for line in printed.splitlines() if len(line) > 100] == []


def test_a_variable_that_a_target_does_not_take_is_refused_with_those_it_takes() -> None:
    environ = {**os.environ, "MAKELEVEL": "0"}
    command = ["make", "-n", "kill", "SERVICE=RabbitMQ", "STAGE=x"]
    refused = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    given = subprocess.run([*command[:-1], "SECONDS=5"], cwd=ROOT, env=environ, capture_output=True, text=True)

    assert "make kill takes no STAGE; it takes SERVICE SECONDS." in refused.stderr
    assert (refused.returncode, given.returncode) == (2, 0)
