"""What an environment has before its first request, which a snapshot of SnapStart keeps for weeks and copies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

from localstage.core.statefile import StateFile
from tests.e2e.conftest import ROOT, RunningStage

INITIALIZED = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import app, psutil
print(threading.active_count(), *{each.raddr.port for each in psutil.Process().net_connections() if each.raddr})
"""


def test_a_function_with_an_alias_starts_no_thread_and_connects_to_nothing_but_its_secrets(
    platform: RunningStage,
) -> None:
    variables = StateFile(platform.state_dir).variables()
    aliased = re.findall(r"\n  (\w+):\n(?:    .*\n|\n)*?      <<: [&*]published", (ROOT / "template.yaml").read_text())
    assert len(aliased) > 10

    for name in aliased:
        folder = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
        environ = {**variables[name], "PYTHONPATH": "layers/headrace", "PATH": os.environ["PATH"]}
        threads, *ports = subprocess.check_output(
            [sys.executable, "-c", INITIALIZED, f"functions/{folder}"], cwd=ROOT, env=environ, text=True
        ).split()

        assert threads == "1"
        assert {*ports} <= {str(urlsplit(environ["AWS_ENDPOINT_URL_SECRETS_MANAGER"]).port)}, name
