"""The workflows of GitHub: what runs before a deployment, who may start it, and with which rights.

That actions are pinned, and leave no token behind, zizmor shows in ``make lint``.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.unit.template_stack import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"
DEPLOYING = ["dev", "prod"]
TAG = '"${GITHUB_REF_NAME#v}"'
"""The version of a tag, such as 1.2.0 of v1.2.0."""


def read(name: str) -> dict[str, Any]:
    """A workflow. YAML 1.1 reads the key ``on`` as true."""
    found = yaml.safe_load((WORKFLOWS / name).read_text())
    return {"on" if key is True else key: value for key, value in found.items()}


def test_a_release_is_tested_and_installed_everywhere_before_it_is_published_without_a_stored_token() -> None:
    jobs = read("release.yml")["jobs"]
    images = {each["image"] for each in jobs["smoke"]["strategy"]["matrix"]["include"]}
    classifiers = (ROOT / "clients" / "python" / "pyproject.toml").read_text()
    same_version = f"ls packages/headrace_client-{TAG}-*.whl packages/headrace-client-{TAG}.tgz"
    figures = 'python3 -m tools.figures "$GITHUB_REF_NAME"'

    assert commands(jobs["build"]) == [figures, ".ci/run", "clients/pack.sh packages", same_version]
    assert jobs["build"]["steps"][0]["with"]["fetch-depth"] == 0
    assert {f"python:{each}-bookworm" for each in re.findall(r"Python :: (3\.\d+)", classifiers)} <= images
    assert [jobs[name]["needs"] for name in ("smoke", "pypi", "npm")] == ["build", "smoke", "smoke"]
    assert [jobs[name]["permissions"] for name in ("pypi", "npm")] == [{"id-token": "write"}] * 2


@pytest.fixture(scope="module")
def deploy() -> dict[str, Any]:
    return read("deploy.yml")


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_what_is_deployed_was_tested_and_rehearsed(deploy: dict[str, Any]) -> None:
    assert commands(deploy["jobs"]["test"]) == [".ci/run", "make rehearse"]
    assert deploy["jobs"].keys() == {"test", *DEPLOYING}
    assert [deploy["jobs"][stage]["needs"] for stage in DEPLOYING] == ["test", "test"]


@pytest.mark.parametrize("stage", DEPLOYING)
def test_a_deployment_belongs_to_the_environment_of_its_stage(deploy: dict[str, Any], stage: str) -> None:
    """The environment asks for the approval, and is in the subject that the role trusts."""
    job = deploy["jobs"][stage]

    assert (job["environment"], job["concurrency"], job["env"]["STACK"]) == (
        stage,
        f"deploy-{stage}",
        f"headrace-{stage}",
    )
    assert f"make deploy STAGE_ENV={stage} ARGS=--no-confirm-changeset" in commands(job)


def test_only_jobs_that_deploy_may_ask_for_a_role(deploy: dict[str, Any]) -> None:
    given = {name: job.get("permissions", deploy["permissions"]) for name, job in deploy["jobs"].items()}

    assert given.pop("test") == {"contents": "read"}
    assert set(map(str, given.values())) == {str({"contents": "read", "id-token": "write"})}


@pytest.mark.parametrize("stage", DEPLOYING)
def test_credentials_are_those_of_a_role_and_there_is_no_key(deploy: dict[str, Any], stage: str) -> None:
    (step,) = [one for one in deploy["jobs"][stage]["steps"] if "configure-aws" in one.get("uses", "")]

    assert step["with"]["role-to-assume"] == "${{ vars.AWS_ROLE_ARN }}"
    assert step["with"]["aws-region"] == "${{ vars.AWS_REGION }}"
    assert "secrets." not in (WORKFLOWS / "deploy.yml").read_text()


@pytest.mark.parametrize("stage", DEPLOYING)
def test_a_deployment_runs_in_an_image_that_cannot_change(deploy: dict[str, Any], stage: str) -> None:
    """What is in it runs with the role."""
    assert re.fullmatch(r"python:3\.13-bookworm@sha256:[0-9a-f]{64}", deploy["jobs"][stage]["container"])


@pytest.mark.parametrize("name", sorted(path.name for path in WORKFLOWS.glob("*.yml")))
def test_a_workflow_has_a_time_limit(name: str) -> None:
    assert [one for one, job in read(name)["jobs"].items() if "timeout-minutes" not in job] == []
