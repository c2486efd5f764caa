"""The TypeScript client on a whole stage, in Node and in Chromium, and installed as its README says."""

from __future__ import annotations

import os
import re
import urllib.request
from pathlib import Path

import pytest

from localstage.services.install import node_program
from tests.e2e.conftest import RunningStage
from tests.worlds.node import node


@pytest.mark.timeout(300)
def test_no_message_is_missed_or_repeated_whatever_happens_to_connections(
    platform: RunningStage, typescript_client: Path
) -> None:
    """100 clients reconnect at once; ``make e2e RECONNECTS=1000`` is the full form."""
    limit = 120_000 + 120 * int(os.environ.get("RECONNECTS") or 0)
    options = ("--test", "--test-force-exit", f"--test-timeout={limit}")
    where = str(platform.state_dir / "stage.json")

    printed = node(*options, "tests/stage/follow.test.mjs", folder=typescript_client, STAGE=where)

    found = re.findall(r"^.*missing 0, repeated 0; .*$", printed, re.M)
    print("\n".join(found))
    assert len(found) == 7


def test_a_page_in_chromium_uses_the_built_module(
    platform: RunningStage, typescript_client: Path, chromium: str
) -> None:
    options = ("--test", "--test-force-exit", "--test-timeout=40000")
    where = str(platform.state_dir / "stage.json")

    printed = node(*options, "tests/stage/browser.test.mjs", folder=typescript_client, STAGE=where, CHROMIUM=chromium)

    found = re.search(r"^Chromium .*missing 0, repeated 0$", printed, re.M)
    assert found, printed
    print(found[0])


def test_the_quick_start_of_the_readme_runs_where_only_the_package_is_installed(
    platform: RunningStage, typescript_client: Path, packages: Path, tmp_path: Path
) -> None:
    readme = (typescript_client / "README.md").read_text()
    code, expected = re.findall(r"^```js\n(.*?)^```.*?^```text\n(.*?)^```", readme, re.M | re.S)[0]
    npm = node_program().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    offline = {"npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false"}

    (package,) = packages.glob("headrace-client-*.tgz")
    assert package.name in readme
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    node(npm, "install", package, folder=project, **offline)
    shell = platform.command("env", "--user", "alice").stdout
    variables = dict(re.findall(r"^export (\w+)=(.*)$", shell, re.M))
    (project / "start.mjs").write_text(code)

    assert [path.name for path in (project / "node_modules").glob("[!.]*")] == ["headrace-client"]
    assert node("start.mjs", folder=project, **variables) == expected


def test_a_page_of_any_origin_imports_the_module(platform: RunningStage, typescript_client: Path) -> None:
    url = f"{platform.where['status_url']}headrace-client.js"
    asked = urllib.request.Request(url, headers={"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        assert answer.read() == (typescript_client / "dist" / "index.min.js").read_bytes()
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
