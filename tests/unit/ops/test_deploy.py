"""A deployment gives each release another name, and tells the SAM CLI by a file."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localstage.core.errors import MissingProgram, StageError
from ops import deploy
from tests.unit.template_stack import ROOT, TemplateStack

NOW = datetime(2026, 11, 22, 23, 57, 54, tzinfo=UTC)


def test_a_release_is_named_after_its_minute_and_commit(template_stack: TemplateStack) -> None:
    release = deploy.new_release(NOW)

    assert release.startswith("2611222357-")
    assert re.fullmatch(template_stack.parameters["Release"]["AllowedPattern"], release)


def test_without_git_a_release_still_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template_stack: TemplateStack
) -> None:
    monkeypatch.setattr(deploy, "ROOT", tmp_path)

    assert deploy.new_release(NOW) == "2611222357-no-commit"
    assert re.fullmatch(template_stack.parameters["Release"]["AllowedPattern"], "2611222357-no-commit")


def test_each_stage_on_aws_gets_the_release_and_keeps_its_parameters() -> None:
    before = tomllib.loads((ROOT / "samconfig.toml").read_text())
    after = tomllib.loads(deploy.config_of("2611222357-677f840"))

    for stage in ("default", "dev", "staging", "prod"):
        parameters = before[stage]["deploy"]["parameters"]["parameter_overrides"]
        assert parameters["Release"] == ""
        parameters["Release"] = "2611222357-677f840"
    assert after == before


def test_an_unknown_stage_is_refused_with_the_known_ones() -> None:
    with pytest.raises(StageError, match=r"STAGE_ENV: got 'test', samconfig\.toml has default, dev, staging, prod"):
        deploy.deploy("test", [])


def test_a_failed_build_deploys_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sam, calls = tmp_path / "sam", tmp_path / "calls"
    sam.write_text(f'#!/bin/sh\necho "$1" >> {calls}\nexit 3\n')
    sam.chmod(0o755)
    monkeypatch.setattr(deploy, "SAM", sam)

    with pytest.raises(deploy.DeploymentError, match="sam build ended with 3"):
        deploy.deploy("dev", [])
    assert calls.read_text() == "build\n"


def test_sam_gets_the_named_configuration_and_the_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sam, calls = tmp_path / "sam", tmp_path / "calls"
    sam.write_text(f'#!/bin/sh\necho "$@" >> {calls}\ngrep -c "Release = .2" "$3" >> {calls}\n')
    sam.chmod(0o755)
    monkeypatch.setattr(deploy, "SAM", sam)

    deploy.deploy("prod", ["--no-confirm-changeset"])

    called = [re.sub(r"\S+/samconfig.toml", "FILE", line) for line in calls.read_text().splitlines()]
    section = "--config-file FILE --config-env prod"
    assert called == [f"build {section}", "4", f"deploy {section} --no-confirm-changeset", "4"]


def test_a_missing_sam_cli_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(deploy, "SAM", tmp_path / "none")

    with pytest.raises(MissingProgram, match=r"make \.local/sam/bin/sam"):
        deploy.deploy("dev", [])
