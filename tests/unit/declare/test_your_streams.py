"""The declarations of ``streams`` and of the examples: each is right in itself, and beside its last committed form."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops.declared import findings

ROOT = Path(__file__).parents[3]
FOLDERS = (ROOT / "streams", ROOT / "examples" / "streams")
DOORS = (ROOT / "examples" / "streams" / "doors.py").read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_declaration_breaks_readers_of_stored_events(folder: Path) -> None:
    assert list(findings(folder)) == []


def test_an_example_has_at_most_40_lines() -> None:
    assert all(len(path.read_text().splitlines()) <= 40 for path in (ROOT / "examples" / "streams").glob("*.py"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('key="door"', 'key="gate"', "key was 'door' and is 'gate'"),
        ("badge: User", "person: User", "person is new and required"),
        ("held_ms: int =", "held_ms: float =", None),
        ("held_ms: int = Field(default=0, ge=0, le=3_600_000)", 'held_ms: str = ""', "held_ms was a number"),
        ("    badge: User\n", "", "badge was the user"),
        ("    badge: User", "    badge: User\n    floor: int", "floor is new and required"),
        ("    badge: User", "    badge: User\n    floor: int = 0", None),
        ('    method: Literal["card", "code", "phone"] = "card"\n', "", None),
        ("keep_days=90", "keep_days=9", None),
        ('"doors"', '"gates"', "the name was 'doors'"),
    ],
)
def test_a_change_that_breaks_readers_is_named(tmp_path: Path, old: str, new: str, said: str | None) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    assert old in DOORS
    file = tmp_path / "doors.py"
    file.write_text(DOORS.replace("    door: Id\n", "    door: Id\n    gate: Id\n"))
    git("init", "-q")
    git("add", "doors.py")
    git("commit", "-qm", "doors")
    changed = file.read_text().replace(old, new)
    for name, what in (("method", 'counts=("method",),'), ("held_ms: int", 'sums=("held_ms",),')):
        changed = changed if f"    {name}" in changed or "float" in changed else changed.replace(what, "")
    file.write_text(changed)

    found = list(findings(tmp_path))
    git("commit", "-qam", "changed")

    assert list(findings(tmp_path)) == found
    assert [each.split(": ", 1)[1].startswith(said or "-") for each in found] == ([True] if said else [])
