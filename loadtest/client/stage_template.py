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

    ``edits`` are texts of it or its mappings, and what replaces them; ``parameters`` extend those of the local stage.

    Raises:
        ValueError: no template has a text to replace; the message names it.
    """
    # A copy, because the stage reloads edited code at once: edits must not reach a running stage.
    for name in ("functions", "layers", "streams", "templates"):
        shutil.rmtree(folder / name, ignore_errors=True)
        if (checkout / name).exists():  # an earlier commit has no streams
            shutil.copytree(checkout / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    path = Path(shutil.copy(checkout / "template.yaml", folder))
    texts = {each: each.read_text(encoding="utf-8") for each in (path, folder / "templates" / "mappings.yaml")}
    for old, new in edits:
        if not any(old in text for text in texts.values()):
            raise ValueError(f"no template contains {old.strip()!r}, which a copy of it replaces")
        texts = {each: text.replace(old, new) for each, text in texts.items()}
    for each, text in texts.items():
        each.write_text(text, encoding="utf-8")
    (folder / "samconfig.toml").write_text(_samconfig(parameters, checkout), encoding="utf-8")
    return path


def _samconfig(parameters: Mapping[str, str], checkout: Path) -> str:
    config = tomllib.loads((checkout / "samconfig.toml").read_text(encoding="utf-8"))
    local: dict[str, str] = config["local"]["global"]["parameters"]["parameter_overrides"]
    lines = [f'{name} = "{value}"' for name, value in {**local, **parameters}.items()]
    return "\n".join(["[local.global.parameters.parameter_overrides]", *lines, ""])
