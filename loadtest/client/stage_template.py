"""A copy of the platform's template with edits, for a stage that is measured or broken."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from localstage.client.running_stage import ROOT


def write_template(
    folder: Path, edits: Sequence[tuple[str, str]], parameters: Mapping[str, str], checkout: Path = ROOT
) -> Path:
    """Write the template of ``checkout`` and its samconfig.toml into ``folder``; return the template's path.

    ``edits`` are texts of the template and what replaces them; ``parameters`` are added to those of the local stage.

    Raises:
        ValueError: a text to replace is not in the template; the message names it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = (checkout / "template.yaml").read_text(encoding="utf-8")
    for old, new in edits:
        if old not in text:
            raise ValueError(f"template.yaml does not contain {old.strip()!r}, which a copy of it replaces")
        text = text.replace(old, new)
    path = folder / "template.yaml"
    path.write_text(text, encoding="utf-8")
    # A copy, because the stage reloads edited code at once: edits must not reach a running stage.
    for name in ("functions", "layers", "templates"):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(checkout / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "samconfig.toml").write_text(_samconfig(parameters, checkout), encoding="utf-8")
    return path


def _samconfig(parameters: Mapping[str, str], checkout: Path) -> str:
    config = tomllib.loads((checkout / "samconfig.toml").read_text(encoding="utf-8"))
    local: dict[str, str] = config["local"]["global"]["parameters"]["parameter_overrides"]
    lines = [f'{name} = "{value}"' for name, value in {**local, **parameters}.items()]
    return "\n".join(["[local.global.parameters.parameter_overrides]", *lines, ""])
