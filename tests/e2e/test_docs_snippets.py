"""The code blocks of README, tutorial and how-to pages run against a stage, and print what the page shows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.clients import unique
from tests.e2e.conftest import ROOT, RunningStage
from tests.e2e.test_dead_letters import discard_all
from tests.worlds.pages import Player

PAGES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
BEFORE = {"operate.md": discard_all, "redrive-dead-letters.md": discard_all}
"""What a page takes for granted: no dead letters of other tests."""


def strict_reader(folder: Path) -> dict[str, str]:
    """The variables of a reader who has the command line, and whose curl fails when a request is refused."""
    (folder / ".curlrc").write_text("fail-with-body\n")
    command = folder / "bin" / "headrace"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom headrace_client.cli import main\n\nmain()\n")
    command.chmod(0o755)
    return {"CURL_HOME": str(folder), "PATH": f"{command.parent}:{os.environ['PATH']}"}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_code_block_of_a_page_prints_the_output_that_it_shows(
    page: Path, platform: RunningStage, typescript_client: Path, tmp_path: Path
) -> None:
    BEFORE.get(page.name, lambda _: None)(platform)
    environ = dict(platform.environ)
    if page.name in ("move-a-busy-room.md", "use-the-api.md"):
        environ |= strict_reader(tmp_path)

    text = page.read_text()
    if page.name == "tutorial.md":
        text = text.replace("lobby", unique("lobby"))  # it shows the first message of its room
    Player(ROOT, environ, tmp_path).play_page(text)
