"""`make help` prints a list that a person can read, and a target takes the variables that it lists."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.template_stack import ROOT
from tests.worlds.tracked import tracked


def test_a_variable_that_a_target_does_not_take_is_refused_with_those_it_takes() -> None:
    environ = {**os.environ, "MAKELEVEL": "0"}
    command = ["make", "-n", "kill", "SERVICE=RabbitMQ", "STAGE=x"]
    refused = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    given = subprocess.run([*command[:-1], "SECONDS=5"], cwd=ROOT, env=environ, capture_output=True, text=True)

    assert "make kill takes no STAGE; it takes SERVICE SECONDS." in refused.stderr
    assert (refused.returncode, given.returncode) == (2, 0)


# Such as `make invoke FUNCTION=all`, in pages and in messages.
NAMED = re.compile(r"\bmake ([a-z-]+(?: [a-z-]+)*)((?: \[?[A-Z_]+=[^\s`\]]*\]?)+)")
LEFT_OUT = ("CHANGELOG.md", "docs/adr")


def test_what_a_text_says_to_make_is_taken() -> None:
    """CHANGELOG and decisions may name what was."""
    texts = [*tracked(ROOT, "*.md"), *tracked(ROOT, "*.py"), *tracked(ROOT, "*.sh"), *tracked(ROOT, "*.js")]
    named = {
        (targets, name)
        for path in texts
        if not str(path.relative_to(ROOT)).startswith((*LEFT_OUT, "tests/"))
        for targets, given in NAMED.findall(path.read_text())
        for name in re.findall(r"([A-Z_]+)=", given)
    }
    environ = {**os.environ, "MAKELEVEL": "0"}
    refused = [
        stderr
        for targets, name in sorted(named)
        if (
            stderr := subprocess.run(
                ["make", "-n", *targets.split(), f"{name}=1"], cwd=ROOT, env=environ, capture_output=True, text=True
            ).stderr
        )
        and "takes no" in stderr
    ]

    assert len(named) > 50
    assert refused == []


@pytest.mark.parametrize(("answer", "left"), [(1, True), (0, False)], ids=["refused", "agreed"])
def test_make_clean_deletes_nothing_if_the_data_of_the_stage_must_stay(tmp_path: Path, answer: int, left: bool) -> None:
    """It asks by `make reset`, which also refuses while a stage runs."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (".local/services", ".venv/bin", "localstage"):
        (tmp_path / name).mkdir(parents=True)
    for name, lines in ((".venv/bin/python", f"echo $@; exit {answer}"), ("localstage/setup.sh", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o755)

    done = subprocess.run(["make", "-s", "clean"], cwd=tmp_path, capture_output=True, text=True)

    assert done.stdout.strip() == "-m localstage reset"
    assert (done.returncode != 0, (tmp_path / ".local").exists(), (tmp_path / ".venv").exists()) == (left, left, left)


def test_no_text_gives_make_a_variable_without_a_target() -> None:
    """Make would list its targets, and take no notice of the variable."""
    texts = [*tracked(ROOT, "*.md"), *tracked(ROOT, "*.py"), *tracked(ROOT, "*.sh")]

    assert [path.name for path in texts if re.search(r"\bmake [A-Z_]+=", path.read_text())] == []
