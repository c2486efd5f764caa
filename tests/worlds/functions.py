"""The functions as Lambda loads them."""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from headrace.api.router import Route

ROOT = Path(__file__).parents[2]
FUNCTIONS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/app.py"))


@functools.cache
def app(function: str) -> ModuleType:
    """The module ``app`` of the function in the folder of that name."""
    path = ROOT / "functions" / function / "app.py"
    spec = importlib.util.spec_from_file_location(f"functions_{function}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def routes_of(function: str) -> dict[str, Route]:
    """The routes of a function, without services of their own: a test gives them all."""
    routes: dict[str, Route] = app(function).ROUTES
    return {key: replace(route, services=None) for key, route in routes.items()}
