"""What is said of an installation that fails."""

from __future__ import annotations

import pytest

from localstage.services.install import last_line

NPM = """\
npm error code ECONNREFUSED
npm error FetchError: request to https://npm.test/ws failed, reason: connect ECONNREFUSED 127.0.0.1:1
npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.
npm error A complete log of this run can be found in: /tmp/debug-0.log
"""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (NPM, "failed, reason: connect ECONNREFUSED 127.0.0.1:1"),
        (
            "npm error Missing: ws@8 from lock file\nnpm error A complete log of this run can be found in: x",
            "Missing: ws@8",
        ),
        ("error: no space left\n\n", "error: no space left"),
        ("\n", "no output"),
    ],
)
def test_the_line_with_the_reason_is_said(output: str, line: str) -> None:
    assert line in last_line(output)
