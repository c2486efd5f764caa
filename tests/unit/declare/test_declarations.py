"""A mistake in a declaration is reported with its file, its line, and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.core.errors import ConfigurationError
from headrace.features.declared.folder import declarations

ROOT = Path(__file__).parents[3]
RIGHT = '''"""Doors that were opened."""

from typing import Literal

from headrace.declare import Event, Field, Id, Secret, Stream, User


class Opening(Event):
    """An opening of a door."""

    door: Id
    badge: User
    method: Literal["card", "code"] = "card"
    held_ms: int = Field(default=0, ge=0, le=3_600_000)
    pin: Secret | None = None


STREAM = Stream(
    "doors",
    Opening,
    key="door",
    counts=("method",),
    sums=("held_ms",),
)
'''
STREAM_LINE, HELD_LINE = 18, 14


def wrong(tmp_path: Path, old: str, new: str) -> str:
    """What is said of a declaration in which one text is replaced."""
    assert old in RIGHT
    (tmp_path / "doors.py").write_text(RIGHT.replace(old, new))
    with pytest.raises(ConfigurationError) as told:
        declarations(str(tmp_path))
    return told.value.message


def test_a_file_declares_a_stream(tmp_path: Path) -> None:
    (tmp_path / "doors.py").write_text(RIGHT)
    (tmp_path / "README.md").write_text("Streams.")

    (stream,) = declarations(str(tmp_path))

    assert (stream.name, stream.user, stream.secrets, stream.line) == ("doors", "badge", ["pin"], STREAM_LINE)
    assert declarations("") == ()


@pytest.mark.parametrize("folder", ["streams", "examples/streams"])
def test_the_files_of_this_repository_declare_streams(folder: str) -> None:
    assert len(declarations(str(ROOT / folder))) == len(list((ROOT / folder).glob("*.py")))


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"doors"', '"Doors"', STREAM_LINE, "the name is 'Doors'; allowed: 1 to 30 lower-case letters"),
        ('"doors"', '"chat"', STREAM_LINE, "the name is 'chat'; allowed: "),
        ("    Opening,", "    dict,", STREAM_LINE, "a class that inherits from Event"),
        ('key="door"', 'key="roof"', STREAM_LINE, "key: 'roof' is no field of Opening; allowed: door, badge, "),
        ('key="door"', 'key="method"', 13, "method cannot be in key; allowed: a required Id, which is no User"),
        ('key="door"', 'key="badge"', 12, "badge cannot be in key"),
        ('("method",)', '("held_ms",)', HELD_LINE, "held_ms cannot be in counts; allowed: up to 5 fields of texts"),
        ('("method",)', '("pin",)', 15, "pin cannot be in counts"),
        ("method: Literal", "top: Literal", STREAM_LINE, "counts: 'method' is no field"),
        ('("method",)', '"method"', STREAM_LINE, "counts is 'method'; allowed: a tuple of names"),
        ('("held_ms",)', '("method",)', 13, "method cannot be in sums; allowed: up to 5 fields of numbers"),
        ('("held_ms",)', '("held_ms", "held_ms")', STREAM_LINE, "sums has 2 fields; allowed: up to 5, each once"),
        ('sums=("held_ms",),', "keep_days=-1,", STREAM_LINE, "keep_days is -1; allowed: a whole number from 0"),
        ('sums=("held_ms",),', 'senders="all",', STREAM_LINE, "senders is 'all'; allowed: producers or users"),
        ('sums=("held_ms",),', 'table="big",', STREAM_LINE, "table is 'big'; allowed: shared or own"),
        ('sums=("held_ms",),', "check=1,", STREAM_LINE, "check is 1; allowed: a function"),
        ('sums=("held_ms",),', "summed=1,", STREAM_LINE, "unexpected keyword argument 'summed'"),
        ("default=0,", "default=-1,", HELD_LINE, "held_ms has the default -1, which it refuses; allowed: a whole"),
        ("held_ms: int", "held_ms: list", HELD_LINE, "held_ms is a <class 'list'>; allowed: Id, User, Secret, str"),
        ("pin: Secret", "timestamp: Secret", 15, "timestamp is a name that the platform uses; allowed: "),
        ("badge: User", "badge: User | None = None", 12, "badge is a User that may be absent; allowed: badge: User"),
        ("pin: Secret | None = None", "owner: User", 15, "owner is a second User; allowed: one field of the type User"),
        ("badge: User", "badge: Users", 12, "NameError: name 'Users' is not defined"),
        ("class Opening(Event):", "class Opening(Event)", 8, "expected ':'; allowed: Python"),
        ("STREAM = Stream(", "DOORS = Stream(", 1, "STREAM is None; allowed: STREAM = Stream("),
    ],
)
def test_a_mistake_names_file_and_line_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    message = wrong(tmp_path, old, new)

    assert message.startswith(f"streams/doors.py:{line}: ")
    assert said in message


def test_two_streams_have_two_names(tmp_path: Path) -> None:
    for name in ("doors.py", "gates.py"):
        (tmp_path / name).write_text(RIGHT)

    with pytest.raises(ConfigurationError) as told:
        declarations(str(tmp_path))

    assert told.value.message.startswith("streams/gates.py:18: doors.py has the name 'doors' too; allowed: another")
