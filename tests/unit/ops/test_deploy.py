"""A deployment gives each release another name, and tells the SAM CLI by a file."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace_client.cli.doctor_stage import Finding, Verdict
from localstage.core.errors import StageError
from ops import deploy
from ops.__main__ import cli
from tests.unit.template_stack import ROOT

PYTHON = Path(sys.executable)


def test_each_stage_on_aws_gets_the_release_and_keeps_its_parameters() -> None:
    before = tomllib.loads((ROOT / "samconfig.toml").read_text())
    after = tomllib.loads(deploy.config_of("2611222357-677f840"))

    for stage in ("default", "dev", "staging", "prod"):
        parameters = before[stage]["deploy"]["parameters"]["parameter_overrides"]
        assert parameters["Release"] == ""
        parameters["Release"] = "2611222357-677f840"
    assert after == before


def test_an_unknown_stage_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        StageError,
        match=r"samconfig\.toml has no stage 'test' \(STAGE_ENV or --config-env\); it has default, dev, staging, prod",
    ):
        deploy.prepare("test")


def test_a_failed_build_deploys_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sam, calls = tmp_path / "sam", tmp_path / "calls"
    sam.write_text(f'#!/bin/sh\necho "$1" >> {calls}\nexit 3\n')
    sam.chmod(0o755)
    monkeypatch.setattr(deploy, "SAM", sam)

    with pytest.raises(deploy.DeploymentError, match="sam build ended with 3"):
        deploy.deploy("dev", [], PYTHON)
    assert calls.read_text() == "build\n"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The arguments that a made-up SAM CLI gets, whose build makes a layer for this Python."""
    sam, calls, layer = tmp_path / "sam", tmp_path / "calls", tmp_path / "build" / "Layer" / "python"
    lines = [f'echo "$@" >> {calls}', f'grep -c "Release = .2" "$3" >> {calls}']
    lines += [f"[ $1 = build ] && mkdir -p {layer} && echo NUMBER = 1 > {layer}/module.py", "exit 0"]
    sam.write_text("\n".join(["#!/bin/sh", *lines]))
    sam.chmod(0o755)
    monkeypatch.setattr(deploy, "SAM", sam)
    monkeypatch.setattr(deploy, "BUILD", tmp_path / "build")
    return calls


def test_packages_are_built_for_the_processor_of_the_stage(
    calls: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """sam build reads no parameters of a deployment: functions of x86 would get packages for arm64."""
    config = tmp_path / "samconfig.toml"
    overrides = "[dev.deploy.parameters.parameter_overrides]\n"
    config.write_text((ROOT / "samconfig.toml").read_text().replace(overrides, f'{overrides}Architecture = "x86_64"\n'))
    monkeypatch.setattr(deploy, "CONFIG", config)

    deploy.deploy("dev", [], PYTHON)

    assert "--config-env dev --parameter-overrides Architecture=x86_64\n" in calls.read_text()


def test_without_the_runtimes_python_a_deployment_says_what_it_costs(
    calls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a build in a container."""
    deploy.deploy("dev", [], None)

    assert "no python3.13 on the path: cold starts compile the layers" in capsys.readouterr().err
    assert "deploy" in calls.read_text()


@pytest.mark.parametrize(
    ("verdict", "options", "deploys"), [("pass", [], 1), ("fail", [], 0), ("fail", ["--no-preflight"], 1)]
)
def test_nothing_is_deployed_to_an_account_that_is_not_ready(
    verdict: Verdict, options: list[str], deploys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed: list[str] = []
    monkeypatch.setattr("ops.preflight.examine", lambda _: [Finding("concurrency", verdict, "of 10, 0")])
    monkeypatch.setattr(deploy, "deploy", lambda stage, *_: deployed.append(stage))
    monkeypatch.setattr(deploy, "prepare", lambda _: PYTHON)

    result = CliRunner().invoke(cli, ["deploy", *options])

    assert len(deployed) == deploys
    assert ("nothing was deployed" in result.output) == (deploys == 0)
