"""Selects the route of an HTTP API that matches a request.

API Gateway's order: a full match (fixed segments before ``{parameters}``), then a greedy ``{proxy+}``, then
``$default``. On one path the named method comes before ``ANY``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from localstage.core.errors import TemplateError

T = TypeVar("T")

DEFAULT = "$default"


class _Node(Generic[T]):
    __slots__ = ("fixed", "greedy", "methods", "parameter")

    def __init__(self) -> None:
        self.fixed: dict[str, _Node[T]] = {}
        self.parameter: _Node[T] | None = None
        self.methods: dict[str, tuple[T, tuple[str, ...]]] = {}
        self.greedy: dict[str, tuple[T, tuple[str, ...]]] = {}


class RouteTable(Generic[T]):
    """Maps requests to routes, which may be any objects.

    Raises:
        TemplateError: a route key is not ``METHOD /path`` or ``$default``.
    """

    def __init__(self, routes: Iterable[tuple[str, T]]) -> None:
        self._root: _Node[T] = _Node()
        self._default: T | None = None
        for key, target in routes:
            if key == DEFAULT:
                self._default = target
            else:
                self._add(key, target)

    def match(self, method: str, path: str) -> tuple[T, dict[str, str]] | None:
        """Return the route for a method and a decoded path, and its path parameters; ``None`` is a 404."""
        segments = path.split("/")[1:]
        values: list[str] = []
        for greedy in (False, True):
            found = _find(self._root, method, segments, 0, values, greedy)
            if found is not None:
                target, names = found
                return target, dict(zip(names, values, strict=True))
        return None if self._default is None else (self._default, {})

    def _add(self, key: str, target: T) -> None:
        method, _, path = key.partition(" ")
        if not path.startswith("/"):
            raise TemplateError(f"Route key {key!r} is neither 'METHOD /path' nor '{DEFAULT}'.")
        node = self._root
        names: list[str] = []
        segments = path.split("/")[1:]
        for index, segment in enumerate(segments):
            if segment.startswith("{") and segment.endswith("+}"):
                if index != len(segments) - 1:
                    raise TemplateError(f"Route key {key!r}: a greedy parameter must be the last segment.")
                node.greedy[method] = (target, (*names, segment[1:-2]))
                return
            if segment.startswith("{") and segment.endswith("}"):
                names.append(segment[1:-1])
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.fixed.setdefault(segment, _Node())
        node.methods[method] = (target, tuple(names))


def _find(
    node: _Node[T], method: str, segments: list[str], at: int, values: list[str], greedy: bool
) -> tuple[T, tuple[str, ...]] | None:
    if at == len(segments):
        return _by_method(node.methods, method)
    segment = segments[at]
    fixed = node.fixed.get(segment)
    if fixed is not None:
        found = _find(fixed, method, segments, at + 1, values, greedy)
        if found is not None:
            return found
    if node.parameter is not None and segment:
        values.append(segment)
        found = _find(node.parameter, method, segments, at + 1, values, greedy)
        if found is not None:
            return found
        values.pop()
    if greedy and segment:
        found = _by_method(node.greedy, method)
        if found is not None:
            values.append("/".join(segments[at:]))
            return found
    return None


def _by_method(targets: dict[str, tuple[T, tuple[str, ...]]], method: str) -> tuple[T, tuple[str, ...]] | None:
    return targets.get(method) or targets.get("ANY")
