"""The declarations of ``streams`` and of the examples: each is right in itself, and beside its last committed form."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headrace_client.cli.doctor_stage import Failed
from ops.declared import findings
from ops.preflight import TEMPLATE, declared

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


def test_a_separate_table_that_functions_do_not_have_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "doors.py").write_text(DOORS.replace("keep_days=90", 'table="own"'))
    template = tmp_path / "template.yaml"
    monkeypatch.setattr("ops.preflight.TEMPLATE", template)
    without = TEMPLATE.read_text()
    complete = without.replace("DECLARED_TABLE: ", "DOORS_TABLE: a\n          DECLARED_TABLE: ")

    def said(text: str) -> str:
        template.write_text(text)
        with pytest.raises(Failed) as refused:
            declared("all", tmp_path)
        return str(refused.value)

    assert said(complete.replace("DOORS_TABLE", "GATES_TABLE", 1)) == (
        'streams/doors.py:17: table="own" needs DOORS_TABLE, the name of a table, in PersistEvents of template.yaml: '
        "add the lines of docs/how-to/add-a-stream.md#a-separate-table"
    )
    assert "in PersistEvents, ReadStreams, ManageDeadLetters, EraseUsers, WriteExports of" in said(without)
    template.write_text(complete)
    assert declared("all", tmp_path) == ["doors"]
