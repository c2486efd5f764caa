"""Reads the declarations of the folder ``streams``, in the order of their files' names."""

from __future__ import annotations

import functools
import sys
import traceback
from pathlib import Path
from types import ModuleType

from headrace import declare
from headrace.core.errors import ConfigurationError
from headrace.declare.stream import DeclarationError
from headrace.features.declared.stage import StreamsSettings
from headrace.features.declared.stream import Events


@functools.cache
def events() -> dict[str, Events]:
    """The events of each declared stream of the stage, by its name."""
    return {each.name: Events(each) for each in declarations(StreamsSettings.read().streams_folder)}


@functools.cache
def declarations(folder: str) -> tuple[declare.Stream, ...]:
    """What the files of ``folder`` declare.

    Raises:
        ConfigurationError: names the file, the line, and what is allowed.
    """
    if folder and not Path(folder).is_dir():
        raise ConfigurationError(f"the variable STREAMS_FOLDER is {folder}; it must be a folder with declarations")
    found: dict[str, str] = {}
    declared = []
    for path in sorted(Path(folder).glob("*.py")) if folder else ():
        stream = _declaration(path)
        if stream.name in found:
            raise _wrong(
                path, stream.line, f"{found[stream.name]} has the name {stream.name!r} too; allowed: another name"
            )
        found[stream.name] = path.name
        declared.append(stream)
    return tuple(declared)


def _declaration(path: Path) -> declare.Stream:
    module = _executed(path)
    stream = getattr(module, "STREAM", None)
    if not isinstance(stream, declare.Stream):
        raise _wrong(path, 1, f"STREAM is {stream!r}; allowed: STREAM = Stream(…)")
    return stream


def _executed(path: Path) -> ModuleType:
    # Not by way of sys.path: a file json.py would take the place of a module of Python. Nor by a loader, which would
    # keep bytecode in the folder, and the folder is deployed as it is.
    module = ModuleType(f"headrace_streams.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # pydantic looks up the names of types there
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except DeclarationError as error:
        raise _wrong(path, error.line, error.message) from None
    except SyntaxError as error:
        raise _wrong(path, error.lineno or 1, f"{error.msg}; allowed: Python") from None
    except Exception as error:  # the file is the user's, and may do anything
        frames = traceback.extract_tb(error.__traceback__)
        line = next((each.lineno for each in reversed(frames) if each.filename == str(path)), None)
        raise _wrong(path, line or 1, f"{type(error).__name__}: {error}; allowed: what headrace.declare has") from error
    return module


def _wrong(path: Path, line: int, message: str) -> ConfigurationError:
    return ConfigurationError(f"streams/{path.name}:{line}: {message}")
