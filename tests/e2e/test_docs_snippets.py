"""The code blocks of README, tutorial and how-to pages run against a stage, and print what the page shows.

The blocks of a page run from top to bottom. ``sh``, ``python`` and ``js`` blocks run. A ``text`` or ``json`` block
after one is its output: these lines in this order, where ``…``, a time or a UUID matches any other. A ``diff`` must
apply. A comment before a block changes how it runs::

    <!-- terminal: bob -->   another terminal; a json block is typed into the program that runs there
    <!-- repeat: why -->     the block runs again until it prints what the page shows
    <!-- file: path -->      the content of that file
    <!-- not run: why -->    neither run nor compared
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from localstage.services.install import node_program
from tests.e2e.conftest import ROOT, RunningStage
from tests.e2e.test_dead_letters import discard_all

PAGES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
MARK = r"(?:^<!-- (?P<mark>terminal|repeat|file|not run): (?P<value>[^>]+) -->\n)?"
FENCED = re.compile(MARK + r"^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
VARYING = re.compile(r"…|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PROGRAMS = {
    "sh": "{}",
    "python": ".venv/bin/python - <<'END'\n{}END\n",
    "js": f"(cd .local/typescript-client && {node_program()} --input-type=module <<'END'\n{{}}END\n)\n",
}
"""How the code of each kind runs in a shell; that in JavaScript can import the TypeScript client."""
DONE = "--- this block is done ---"
SECONDS = 45.0


class Terminal:
    """A shell in the folder of the clone; a command that fails ends it."""

    def __init__(self, output: Path, environ: dict[str, str]) -> None:
        self._output = output
        self._typed_at = 0
        with output.open("wb") as file:
            self._shell = subprocess.Popen(
                ["bash", "-e"], cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=file, stderr=file, text=True
            )

    def type(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._typed_at = len(self._text())
        self._shell.stdin.write(text)
        self._shell.stdin.flush()

    def wait_for(self, lines: str, repeat: Callable[[], None] = lambda: None) -> None:
        """Wait until these lines follow what was typed; ``repeat`` is called when the block is done without them."""
        texts = [".*?".join(map(re.escape, VARYING.split(line.strip()))) for line in lines.splitlines()]
        wanted = re.compile(".*?".join(texts), re.S)
        deadline = time.monotonic() + SECONDS
        while not wanted.search(shown := self._text()[self._typed_at :]):
            assert self._shell.poll() is None, f"a command failed:\n{self._text()}"
            assert time.monotonic() < deadline, f"the page shows:\n{lines}\nthe terminal:\n{self._text()[-3000:]}"
            time.sleep(0.1)
            if DONE in shown:
                repeat()

    def close(self) -> None:
        self._shell.terminate()
        self._shell.communicate()

    def _text(self) -> str:
        return COLOURS.sub("", self._output.read_text())


@dataclass
class Player:
    """Runs the code blocks of one page in its terminals."""

    stage: RunningStage
    folder: Path
    terminals: dict[str, Terminal] = field(default_factory=dict)
    compare: Callable[[str], None] | None = None
    """Compares a block with the output of the one before it."""

    def play(self, kind: str, code: str, mark: str | None, value: str | None) -> None:
        if mark in ("file", "not run"):
            self.compare = None
        elif kind == "diff":
            subprocess.run(["git", "apply", "--check", "-p0"], input=code, text=True, cwd=ROOT, check=True)
        elif mark == "terminal" and value is not None:
            self.play_elsewhere(kind, code, self.terminal(value))
        elif kind in PROGRAMS:
            self.run(PROGRAMS[kind].format(code), repeated=mark == "repeat")
        else:
            assert kind in ("text", "json"), f"say why this block is not run:\n{code}"
            assert self.compare is not None, f"nothing prints this; say why it is not run:\n{code}"
            self.compare(code)

    def run(self, code: str, *, repeated: bool) -> None:
        terminal = self.terminal("first")
        typed = (f"{{ {code}}} || true\n" if repeated else code) + f"echo '{DONE}'\n"
        terminal.type(typed)
        if repeated:
            self.compare = lambda lines: terminal.wait_for(lines, lambda: terminal.type(typed))
        else:
            self.compare = terminal.wait_for
            terminal.wait_for(DONE)

    def play_elsewhere(self, kind: str, code: str, terminal: Terminal) -> None:
        self.compare = terminal.wait_for
        if kind == "text":
            terminal.wait_for(code)
        else:
            terminal.type(code)

    def terminal(self, name: str) -> Terminal:
        if name not in self.terminals:
            environ = {name: value for name, value in self.stage.environ.items() if not name.startswith("MAKE")}
            environ["PYTHONPATH"] = "clients/python"
            self.terminals[name] = Terminal(self.folder / name, environ)
        return self.terminals[name]


BEFORE = {"operate.md": discard_all, "redrive-dead-letters.md": discard_all}
"""What a page takes for granted: no dead letters of other tests."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_code_block_of_a_page_prints_the_output_that_it_shows(
    page: Path, platform: RunningStage, typescript_client: Path, tmp_path: Path
) -> None:
    text = page.read_text()
    found = list(FENCED.finditer(text))
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.M)), "a block is indented, or its comment is misspelt"
    BEFORE.get(page.name, lambda _: None)(platform)
    player = Player(platform, tmp_path)
    try:
        for each in found:
            player.play(each["kind"], each["code"], each["mark"], each["value"])
    finally:
        for terminal in player.terminals.values():
            terminal.close()
