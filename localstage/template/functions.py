"""Reads functions and layers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from localstage.core.errors import TemplateError
from localstage.core.model import Function, Layer
from localstage.template.intrinsics import as_text
from localstage.template.resources import Properties, Stack
from localstage.template.translate import PLAIN

STREAMS = "LOCALSTAGE_STREAMS"
"""The variable with another folder for the layer that is not built, which has the declared streams."""


def read_functions(stack: Stack, root: Path, sources: Mapping[str, str]) -> dict[str, Function]:
    """Every function of the template, and its layers. ``sources`` has the folders of their code, relative to ``root``.

    Raises:
        TemplateError: a folder or a handler's file is missing.
    """

    def folder(id: str, code: Properties) -> Path:
        found = (root / sources[code["S3Key"]]).resolve()
        if not found.is_dir():
            raise TemplateError(f"{id}: {sources[code['S3Key']]} is not a folder")
        return found

    def layer(id: str, properties: Properties) -> Layer:
        key = properties["Content"]["S3Key"]
        if key.startswith(PLAIN):
            streams = os.environ.get(STREAMS)
            return Layer(key, Path(streams).resolve() if streams else folder(id, properties["Content"]), None, True)
        content = folder(id, properties["Content"])
        requirements = content / "requirements.txt"
        return Layer(key, content, requirements if requirements.is_file() else None)

    layers = {stack.value(id): one for id, one in stack.read("AWS::Lambda::LayerVersion", layer).items()}

    def function(id: str, properties: Properties) -> Function:
        code = folder(id, properties["Code"])
        module, _, _ = properties["Handler"].rpartition(".")
        if not (code / f"{module}.py").is_file():
            raise TemplateError(f'{id}.Handler: "{properties["Handler"]}" needs {module}.py in {code}')
        reserved = properties.get("ReservedConcurrentExecutions")
        variables = properties.get("Environment", {}).get("Variables", {})
        endpoint = stack.resolver.attributes.endpoint
        return Function(
            id=id,
            name=stack.value(id),
            code=code,
            handler=properties["Handler"],
            timeout=float(properties.get("Timeout", 3)),
            memory=int(properties.get("MemorySize", 128)),
            environment={name: endpoint(name) or as_text(value) for name, value in variables.items()},
            layers=tuple(layers[name] for name in properties.get("Layers", ())),
            reserved_concurrency=None if reserved is None else int(reserved),
            may_recurse=properties.get("RecursiveLoop") == "Allow",
        )

    return stack.read("AWS::Lambda::Function", function)
