"""The table of what was checked, by resource type."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rehearsal.cloud import Resource
from rehearsal.gaps import ALARM, GAPS

_TEXTS = tomllib.loads(Path(__file__).with_name("report.toml").read_text(encoding="utf-8"))
_USED: Mapping[str, str] = _TEXTS["used"]
_NO_EVENT: Mapping[str, str] = _TEXTS["no_event"]


def table(resources: Sequence[Resource]) -> str:
    """One line for each type: how many of it the stacks have, and what was checked of them."""
    counts = Counter(one.type for one in resources)
    lines = [(type_, str(count), checked(type_)) for type_, count in sorted(counts.items())]
    widths = [max(len(line[column]) for line in lines) for column in (0, 1)]
    return "\n".join(f"  {type_:<{widths[0]}}  {count:>{widths[1]}}  {text}" for type_, count, text in lines)


def unproven(unused: Sequence[str]) -> list[str]:
    """The unused rights that the code of a function has: each needs an event, or can go."""
    return [one for one in unused if not any(fnmatchcase(one, pattern) for pattern in _NO_EVENT)]


def reasons(unused: Sequence[str]) -> str:
    """One line for each unused right, with the reason."""
    return "\n".join(
        f"  {one} ({reason})" for one in unused for pattern, reason in _NO_EVENT.items() if fnmatchcase(one, pattern)
    )


def checked(type_: str) -> str:
    """What the rehearsal checks of a type."""
    if type_.startswith("Custom::"):
        return "run: its function declared exchanges and queues on the broker"
    if type_ == ALARM:
        return "created by the emulator; of metric math, ids and the number of metrics are checked"
    return GAPS[type_].instead if type_ in GAPS else _USED.get(type_, "created by the emulator; not used")
