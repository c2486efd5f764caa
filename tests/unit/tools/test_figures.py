"""The ages and versions of the runs in docs/benchmarks.md."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tools.figures import PAGE, main


@pytest.fixture
def commits(tmp_path: Path) -> list[str]:
    """The commits of a repository: without a version, with 1.1.0 where it was once, and with 1.2.3."""

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    made = []
    for name, text in {
        "README.md": "1.2.0",
        "clients/python/pyproject.toml": '[project]\nversion = "1.1.0"\n',
        "clients/python/headrace_client/__init__.py": '__version__ = "1.2.3"\n',
    }.items():
        (tmp_path / "clients/python/pyproject.toml").unlink(missing_ok=True)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--message", name)
        made.append(git("rev-parse", "--short=7", "HEAD"))
    return made


def printed(folder: Path, capsys: pytest.CaptureFixture[str], tag: str, *said: str) -> tuple[int, list[str]]:
    """The exit code and the lines for a page that says this of runs of yesterday."""
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
    (folder / PAGE).parent.mkdir()
    (folder / PAGE).write_text("".join(f"`make bench`, {yesterday}{each}.\n" for each in said))
    return main(tag, folder), capsys.readouterr().out.splitlines()


def test_a_release_has_the_figures_of_its_minor_version(
    tmp_path: Path, commits: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = f",\n`{commits[2]}`, bare publish 0.45 ms"

    code, lines = printed(tmp_path, capsys, "v1.2.9", run, run)

    assert (code, len(lines)) == (0, 2)
    assert lines[1] == f"{PAGE}:3: {commits[2]}: 1 days, 0 commits, version 1.2, bare publish 0.45 ms"


def test_a_release_with_other_figures_is_refused_and_names_each(
    tmp_path: Path, commits: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = [f", `{commits[0]}`", f", `{commits[1]}`", ", `0123456`", " on another day", f", `{commits[2]}`"]

    code, lines = printed(tmp_path, capsys, "v1.2.0", *said)

    assert code == 1
    assert [line.endswith(", not of v1.2.0") for line in lines] == [True] * 4 + [False]
    assert f"{commits[1]}: 1 days, 1 commits, version 1.1" in lines[1]
    assert "0123456: 1 days, unknown commits, version unknown" in lines[2]
    assert "no commit" in lines[3]


@pytest.mark.parametrize(("tag", "code"), [("", 0), ("latest", 1), ("v11.2.0", 1)])
def test_without_a_tag_nothing_is_refused_and_with_no_version_everything(
    tag: str, code: int, tmp_path: Path, commits: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(tmp_path, capsys, tag, f", `{commits[2]}`")[0] == code
