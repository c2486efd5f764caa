"""Reads functions and layers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from localstage.core.errors import TemplateError
from localstage.core.model import Function, Layer
from localstage.template.intrinsics import as_text
from localstage.template.resources import Resource, Stack
from localstage.template.translate import Source

log = logging.getLogger("localstage.template")

_MAX_TIMEOUT = 900
_MAX_LAYERS = 5


def read_functions(stack: Stack, root: Path, sources: Mapping[str, Source]) -> dict[str, Function]:
    """Every function of the template, and its layers.

    Raises:
        TemplateError: a folder, a handler's file or a layer is missing, or a setting that Lambda refuses.
    """
    layers = {
        stack.ref(resource.id): _layer(resource, root, sources) for resource in stack.all("AWS::Lambda::LayerVersion")
    }
    return {
        resource.id: _function(stack, resource, root, sources, layers)
        for resource in stack.all("AWS::Lambda::Function")
    }


def _function(
    stack: Stack, resource: Resource, root: Path, sources: Mapping[str, Source], layers: Mapping[str, Layer]
) -> Function:
    runtime = resource.text("Runtime", "")
    if resource.text("PackageType", "Zip") != "Zip" or not runtime.startswith("python"):
        raise TemplateError(f"{resource.id}.Runtime: the local stage runs Python functions, not {runtime or 'images'}")
    code = _folder(resource, "Code", "CodeUri", root, sources)
    handler = resource.text("Handler")
    _check_handler(resource.id, code, handler)
    reserved = None
    if resource.has("ReservedConcurrentExecutions"):
        reserved = resource.integer("ReservedConcurrentExecutions")
    return Function(
        id=resource.id,
        name=stack.ref(resource.id),
        code=code,
        handler=handler,
        timeout=float(resource.integer("Timeout", 3, low=1, high=_MAX_TIMEOUT)),
        memory=resource.integer("MemorySize", 128, low=128, high=10240),
        environment=_environment(stack, resource),
        layers=_layers(resource, layers),
        reserved_concurrency=reserved,
    )


def _environment(stack: Stack, resource: Resource) -> dict[str, str]:
    variables = resource.inner("Environment", resource.mapping("Environment")).mapping("Variables")
    endpoint = stack.resolver.attributes.endpoint
    return {name: endpoint(name) or as_text(value) for name, value in variables.items()}


def _layers(resource: Resource, layers: Mapping[str, Layer]) -> tuple[Layer, ...]:
    names = resource.items("Layers")
    if len(names) > _MAX_LAYERS:
        raise TemplateError(f"{resource.id}.Layers: got {len(names)}, Lambda allows {_MAX_LAYERS}")
    found = []
    for name in names:
        if name in layers:
            found.append(layers[name])
        else:
            log.warning(
                "%s.Layers: %s is not a layer of this template; the function runs without it", resource.id, name
            )
    return tuple(found)


def _layer(resource: Resource, root: Path, sources: Mapping[str, Source]) -> Layer:
    content = _folder(resource, "Content", "ContentUri", root, sources)
    logical_id = resource.mapping("Content")["S3Key"]
    requirements = content / "requirements.txt"
    built = sources[logical_id].build.startswith("python")
    return Layer(logical_id, content, requirements if built and requirements.is_file() else None)


def _folder(resource: Resource, name: str, sam_name: str, root: Path, sources: Mapping[str, Source]) -> Path:
    source = sources.get(as_text(resource.mapping(name).get("S3Key")))
    if source is None:
        raise TemplateError(f"{resource.id}.{sam_name}: must be a folder of this project")
    folder = (root / source.path).resolve()
    if not folder.is_dir():
        raise TemplateError(f"{resource.id}.{sam_name}: {source.path} is not a folder")
    return folder


def _check_handler(logical_id: str, code: Path, handler: str) -> None:
    module, dot, function = handler.rpartition(".")
    if not dot or not module or not function:
        raise TemplateError(f'{logical_id}.Handler: got "{handler}", must be file.function')
    path = code / module.replace(".", "/")
    if not path.with_name(f"{path.name}.py").is_file() and not (path / "__init__.py").is_file():
        raise TemplateError(f'{logical_id}.Handler: "{handler}" needs {module.replace(".", "/")}.py in {code}')
