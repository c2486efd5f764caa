"""Notices edits of the functions' code and layers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import watchfiles

from localstage.core.model import Function
from localstage.functions.settings import bytecode_file, layer_path

_log = logging.getLogger("localstage.functions")

# Changes that come within STEP of each other are one edit; SLOWEST bounds a long series of them. Milliseconds.
_STEP = 15
_SLOWEST = 200


async def edits(directories: Iterable[Path]) -> AsyncIterator[set[Path]]:
    """Yields sets of changed files, without those that editors and tools leave behind."""
    existing = [each for each in directories if each.is_dir()]
    if not existing:
        return
    try:
        async for changes in watchfiles.awatch(*existing, step=_STEP, debounce=_SLOWEST, recursive=True):
            yield {Path(path) for _, path in changes}
    except OSError as error:
        # Usually the limit on inotify watches. The stage is useful without reloading.
        _log.warning("edits are not noticed, restart the stage to see them: %s", error)


def sources(functions: Mapping[str, Function], layer_paths: Mapping[str, Path]) -> dict[Path, set[str]]:
    """The source directories of functions and layers, with the functions that use each. Built layers are left out."""
    users: dict[Path, set[str]] = {}
    for function in functions.values():
        own = [layer.content for layer in function.layers]
        mounted = [each for each in layer_path(function, layer_paths) if _within(each, own)]
        for directory in (function.code, *mounted):
            users.setdefault(directory.resolve(), set()).add(function.id)
    return users


def touched(changed: Iterable[Path], users: Mapping[Path, set[str]]) -> set[str]:
    """The functions that ``changed`` files belong to."""
    return {
        each for directory, ids in users.items() for path in changed if path.is_relative_to(directory) for each in ids
    }


def forget_bytecode(changed: Iterable[Path], state_dir: Path) -> None:
    """Remove the bytecode of changed sources.

    Python regards bytecode as current if the source's second and size are unchanged, as after two quick edits.
    """
    for path in changed:
        if path.suffix == ".py":
            with suppress(OSError):
                bytecode_file(state_dir, path).unlink()


def _within(path: Path, directories: Iterable[Path]) -> bool:
    return any(path.is_relative_to(each.absolute()) for each in directories)
