"""The platform's template with shorter durations, so that a fault scenario takes minutes instead of hours.

Only durations change: the minimum of a parameter (AWS asks for a visibility of six timeouts), and values without a
parameter (a timeout, the heartbeat, the schedule that repairs the topology).
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = {"RetryFirstPauseSeconds": "2", "RetryVisibilitySeconds": "20"}
PERSIST_TIMEOUT = 20
"""Seconds: more than persist.TRY_MARGIN, below which no record of the retry lane is started."""
HEARTBEAT = 60
"""Seconds: the shortest that the platform accepts. RabbitMQ gives up on a silent peer after one to two of them."""

_NONE: Mapping[str, str] = {}
_EDITS = (
    ("    Default: 360\n    MinValue: 360\n", "    Default: 360\n    MinValue: 1\n"),
    ("      Timeout: 60\n", f"      Timeout: {PERSIST_TIMEOUT}\n"),
    (
        '          BROKER_ENDPOINTS: !Join [",", !GetAtt Broker.AmqpEndpoints]\n',
        '          BROKER_ENDPOINTS: !Join [",", !GetAtt Broker.AmqpEndpoints]\n'
        f'          BROKER_HEARTBEAT_SECONDS: "{HEARTBEAT}"\n',
    ),
    ("Schedule: rate(5 minutes)", "Schedule: rate(1 minute)"),
)


def write_template(folder: Path, parameters: Mapping[str, str] = _NONE) -> Path:
    """Write the template and its samconfig.toml, with these ``parameters``, into ``folder``; the template's path.

    Raises:
        ValueError: a text to replace is not in the template; the message names it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    for old, new in _EDITS:
        if old not in text:
            raise ValueError(
                f"template.yaml does not contain {old.strip()!r}; change _EDITS in faults/harness/stage_template.py"
            )
        text = text.replace(old, new)
    path = folder / "template.yaml"
    path.write_text(text, encoding="utf-8")
    # A copy, because the stage reloads edited code at once: edits must not reach a running scenario.
    for name in ("functions", "layers", "templates"):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "samconfig.toml").write_text(_samconfig(parameters), encoding="utf-8")
    return path


def _samconfig(parameters: Mapping[str, str]) -> str:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    local: dict[str, str] = config["local"]["global"]["parameters"]["parameter_overrides"]
    lines = [f'{name} = "{value}"' for name, value in {**local, **PARAMETERS, **parameters}.items()]
    return "\n".join(["[local.global.parameters.parameter_overrides]", *lines, ""])
