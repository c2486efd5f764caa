"""Says which resources a release replaces or removes, by comparing its template with that of the release before.

CloudFormation replaces a resource if a property changes that AWS's registry calls create-only; what the resource held
is then gone, unless its policy retains it. The change set of ``sam deploy`` says so too, minutes later.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from localstage.template.document import parse
from localstage.template.translate import translate

ROOT = Path(__file__).resolve().parents[1]
REGION = "us-east-1"
OF_EACH_RELEASE = ("AWS::Lambda::Version", "AWS::Lambda::LayerVersion", "AWS::ApiGatewayV2::Deployment")
"""Every release makes new ones of these on purpose."""

Resources = Mapping[str, Mapping[str, Any]]


def replacements(old: Resources, new: Resources) -> Iterator[str]:
    """A line for each resource of ``old`` that an update to ``new`` replaces or removes."""
    for name in sorted(old):
        before, after = old[name], new.get(name)
        if before["Type"] in OF_EACH_RELEASE:
            continue
        if after is None:
            kept = before.get("DeletionPolicy", "Delete") != "Delete"
            yield f"{name} ({before['Type']}) is removed{', but kept in the account' if kept else ''}"
        elif after["Type"] != before["Type"]:
            yield f"{name} is replaced: {before['Type']} becomes {after['Type']}"
        elif line := _replaced(name, before, after):
            yield line


def _replaced(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, before["Type"]).schema
    old, new = before.get("Properties", {}), after.get("Properties", {})

    def changed(kind: str) -> list[str]:
        paths = (pointer.split("/")[2] for pointer in schema.get(kind, ()))
        return sorted({path for path in paths if old.get(path) != new.get(path)})

    always, perhaps = changed("createOnlyProperties"), changed("conditionalCreateOnlyProperties")
    if not always and not perhaps:
        return ""
    line = f"{name} ({before['Type']}) {'is' if always else 'may be'} replaced: {', '.join(always + perhaps)} changed"
    fixed = [
        path
        for path in (*(pointer.split("/")[2] for pointer in schema["primaryIdentifier"]), "CidrBlock")
        if path in new and new[path] == old.get(path)
    ]
    # CloudFormation makes the new resource before it deletes the old one.
    return f"{line}; this fails, since {fixed[0]} stays and the old one still has it" if fixed else line


def report() -> str:
    """What the working tree replaces of the newest tag, for a person.

    Properties are compared as they are written: an expression that changes may still have the same value.
    """
    tag = _git("describe", "--tags", "--abbrev=0").decode().strip()
    if not tag:
        return "headrace: no release is tagged, so there is nothing to compare this one with"
    with TemporaryDirectory() as folder:
        old, state = Path(folder) / "old", Path(folder) / "state"
        with tarfile.open(fileobj=io.BytesIO(_git("archive", tag, "template.yaml", "templates"))) as archive:
            archive.extractall(old, filter="data")
        state.mkdir()
        lines = list(replacements(_resources(old, state), _resources(ROOT, state)))
    title = f"headrace: replaced or removed since {tag}, by the text of the templates: {len(lines)}"
    return "\n  ".join([title, *lines])


def _resources(folder: Path, state: Path) -> Resources:
    """Every resource of the stack; those of a nested one under ``Stack/Name``."""
    found = dict(translate(folder / "template.yaml", {}, REGION, state).document["Resources"])
    for path in sorted((folder / "templates").glob("*.yaml")):
        nested = parse(path.read_text(encoding="utf-8"), path)["Resources"]
        found |= {f"{path.stem}/{name}": resource for name, resource in nested.items()}
    return found


def _git(*arguments: str) -> bytes:
    """The output of a git command; empty if it fails, as without a repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False).stdout


if __name__ == "__main__":
    print(report())
