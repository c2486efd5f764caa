"""Says which resources a release replaces or removes, by comparing its template with that of the release before.

CloudFormation replaces a resource if a property changes that AWS's registry calls create-only; what the resource held
is then gone, unless its policy retains it. The change set of ``sam deploy`` says so too, minutes later.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from localstage.template.document import parse
from localstage.template.translate import translate

ROOT = Path(__file__).resolve().parents[1]
REGION = "us-east-1"
OF_EACH_RELEASE = ("AWS::Lambda::Version", "AWS::Lambda::LayerVersion", "AWS::ApiGatewayV2::Deployment")
"""Every release makes new ones of these on purpose."""
FIXED = ("createOnlyProperties", "conditionalCreateOnlyProperties", "primaryIdentifier")  # in the schema of a type
RANGE = ("CidrBlock",)
RELEASED = Path(__file__).with_name("released.json")
"""The resources of the last release, as :func:`release` writes them."""

Resources = Mapping[str, Mapping[str, Any]]


def replacements(old: Resources, new: Resources) -> Iterator[str]:
    """A line for each resource of ``old`` that an update to ``new`` replaces or removes."""
    for name in sorted(old):
        before, after = old[name], new.get(name)
        if after is None:
            kept = before.get("DeletionPolicy", "Delete") != "Delete"
            yield f"{name} ({before['Type']}) is removed{', but kept in the account' if kept else ''}"
        elif after["Type"] != before["Type"]:
            yield f"{name} is replaced: {before['Type']} becomes {after['Type']}"
        elif line := _replaced(name, before, after):
            yield line


def _replaced(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    old, new = before.get("Properties", {}), after.get("Properties", {})
    always, perhaps = (sorted({p for p in _paths(before, kind) if old.get(p) != new.get(p)}) for kind in FIXED[:2])
    if not always and not perhaps:
        return ""
    line = f"{name} ({before['Type']}) {'is' if always else 'may be'} replaced: {', '.join(always + perhaps)} changed"
    fixed = [path for path in (*_paths(before, FIXED[2]), *RANGE) if path in new and new[path] == old.get(path)]
    # CloudFormation makes the new resource before it deletes the old one.
    return f"{line}; this fails, since {fixed[0]} stays and the old one still has it" if fixed else line


def _paths(resource: Mapping[str, Any], *kinds: str) -> Iterator[str]:
    """The properties that the schema of a resource lists under these names."""
    # Only here: preflight counts resources without it, and it takes half a second.
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, resource["Type"]).schema
    return (pointer.split("/")[2] for kind in kinds for pointer in schema.get(kind, ()))


def report() -> str:
    """What the working tree replaces of the last release, for a person.

    Properties are compared as they are written: an expression that changes may still have the same value.
    """
    lines = list(replacements(json.loads(RELEASED.read_text(encoding="utf-8")), resources()))
    title = f"headrace: replaced or removed since the last release, by the text of the templates: {len(lines)}"
    return "\n  ".join([title, *lines])


@functools.cache
def resources(*given: tuple[str, str]) -> Resources:
    """What the stack declares with these parameters; the resources of a nested template under ``template/Name``."""
    with TemporaryDirectory() as folder:
        found = dict(translate(ROOT / "template.yaml", dict(given), REGION, Path(folder)).document["Resources"])
    for path in sorted((ROOT / "templates").glob("*.yaml")):
        nested = parse(path.read_text(encoding="utf-8"), path, dict(given))["Resources"]
        found |= {f"{path.stem}/{name}": resource for name, resource in nested.items()}
    return found


def release() -> None:
    """Keep what later releases are compared with."""
    kept = {name: _kept(one) for name, one in sorted(resources().items()) if one["Type"] not in OF_EACH_RELEASE}
    lines = (f"{json.dumps(name)}: {json.dumps(one, sort_keys=True)}" for name, one in kept.items())
    RELEASED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _kept(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a resource that is compared."""
    wanted, properties = {*_paths(resource, *FIXED), *RANGE}, resource.get("Properties", {})
    policies = {name: resource[name] for name in ("Type", "DeletionPolicy") if name in resource}
    return {**policies, "Properties": {name: one for name, one in properties.items() if name in wanted}}


if __name__ == "__main__":
    release() if sys.argv[1:] == ["release"] else print(report())
