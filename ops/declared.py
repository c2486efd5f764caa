"""Declared streams before a deployment: what a changed declaration would break for readers of stored events."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from headrace.declare import Stream, fields
from headrace.features.declared.folder import declarations
from headrace.features.declared.stream import Events


def findings(folder: Path) -> Iterator[str]:
    """What is wrong with the declarations of ``folder`` beside their last committed form, a sentence for each.

    Raises:
        ConfigurationError: a declaration is wrong in itself.
    """
    for now in declarations(str(folder)):
        path = folder / now.file
        before = _committed(path)
        if before is not None:
            yield from (f"streams/{now.file}:{now.line}: {each}" for each in broken(before, now))


def table_lacks(stream: Stream, resources: Mapping[str, Any]) -> str | None:
    """The sentence for a stream with a separate table that functions of the template do not have."""
    if stream.table != "own":
        return None
    variable = Events(stream).stream.table_setting
    environments = {
        name: one.get("Properties", {}).get("Environment", {}).get("Variables", {}) for name, one in resources.items()
    }
    functions = [name for name, has in environments.items() if "DECLARED_TABLE" in has and variable not in has]
    if not functions:
        return None
    needs = f"{variable}, the name of a table, in {', '.join(functions)} of template.yaml"
    add = "add the lines of docs/how-to/add-a-stream.md#a-separate-table"
    return f'streams/{stream.file}:{stream.line}: table="own" needs {needs}: {add}'


def broken(before: Stream, now: Stream) -> Iterator[str]:
    """What readers of events that are stored would miss of ``now``, a declaration that was ``before``."""
    if before.name != now.name:
        yield f"the name was {before.name!r}: its events are under that name; allowed: another file for another stream"
        return
    for what in ("key", "table"):
        was, is_ = getattr(before, what), getattr(now, what)
        if was != is_:
            yield f"{what} was {was!r} and is {is_!r}: stored events are found by the first; allowed: {was!r}"
    if before.user and not now.user:
        yield f"{before.user} was the user: pages and counts of users end; allowed: a field of the type User"
    old = before.event.model_fields
    for name, field in now.event.model_fields.items():
        if name not in old:
            if field.is_required():
                yield f"{name} is new and required: senders of today do not send it; allowed: a default, or | None"
        elif _kind(old[name]) != _kind(field):
            yield f"{name} was {_kind(old[name])}: readers get both; allowed: the type that it had, or another name"


def _kind(field: FieldInfo) -> str:
    """What readers get of a field."""
    if fields.is_text(field):
        return "a text"
    return "true or false" if fields.type_of(field) is bool else "a number"


def _committed(path: Path) -> Stream | None:
    """The declaration as it was committed last, in a form that differs from the file; ``None`` if there is none."""
    text = path.read_text(encoding="utf-8")
    for commit in _git(path, "log", "--format=%H", "-n", "2", "--", path.name).split():
        before = _git(path, "show", f"{commit}:./{path.name}")
        if before and before != text:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, path.name).write_text(before, encoding="utf-8")
                return declarations(folder)[0]
    return None


def _git(path: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=path.parent, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
