"""The functions as Lambda loads them."""

from __future__ import annotations

import functools
import importlib.util
from types import ModuleType

from headrace.api.router import Route
from tests.unit.stack import ROOT


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
    """The routes of a function."""
    routes: dict[str, Route] = app(function).ROUTES
    return routes
