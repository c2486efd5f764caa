"""Runs the code blocks of a page as its reader does, in terminals, and compares what they print with the page.

The blocks of a page run from top to bottom. ``sh``, ``python`` and ``js`` blocks run. A ``text`` or ``json`` block
after one is its output: these lines in this order, where ``…``, a time or a UUID matches any other, and the main
lane the retry lane. A ``diff`` must apply, or be applied already. A comment before a block changes how it runs::

    <!-- terminal: bob -->        another terminal; a json block is typed into the program that runs there
    <!-- repeat: why -->          the block runs again until it prints what the page shows
    <!-- start: why -->           later blocks of its kind run after its code
    <!-- file: path -->           the content of that file
    <!-- account: alice, bob -->  it needs an AWS account, and runs in these terminals
    <!-- local stage: alice -->   it needs the local stage, and runs in these terminals
    <!-- not run: why -->         neither run nor compared
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localstage.services.install import node_program

MARK = r"(?:^<!-- (?P<mark>terminal|repeat|start|file|account|local stage|not run): (?P<value>[^>]+) -->\n)?"
FENCED = re.compile(MARK + r"^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
VARYING = re.compile(r"…|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAIN_LANE, LANE = '"lane":"main"', '"lane":"(?:main|retry)"'
"""An accepted event takes the retry lane if the broker is silent for a second, as when its disk stands still."""
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PROGRAMS = {
    "sh": "{}",
    "python": ".venv/bin/python - <<'END'\n{}END\n",
    "js": f"(cd .local/typescript-client && {node_program()} --input-type=module <<'END'\n{{}}END\n)\n",
}
"""How the code of each kind runs in a shell; that in JavaScript can import the TypeScript client."""
GIVEN = re.compile(r"^(\w+)=…$", re.M)
DONE = "--- this block is done ---"
FIRST = "alice"
"""The terminal of a block without a mark."""


def has(shown: str, patterns: list[str]) -> bool:
    """Whether all patterns are found, each after the one before it."""
    at = 0
    for pattern in patterns:
        if (found := re.compile(pattern).search(shown, at)) is None:
            return False
        at = found.end()
    return True


class Terminal:
    """A shell in the folder of a clone; a command that fails ends it. Output is waited for until ``deadline``."""

    def __init__(self, output: Path, clone: Path, environ: dict[str, str], deadline: float) -> None:
        self._output = output
        self._deadline = deadline
        self._typed_at = 0
        with output.open("wb") as file:
            self._shell = subprocess.Popen(
                ["bash", "-e"], cwd=clone, env=environ, stdin=subprocess.PIPE, stdout=file, stderr=file, text=True
            )

    def type(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._typed_at = len(self.text())
        self._shell.stdin.write(text)
        self._shell.stdin.flush()

    def wait_for(self, lines: str, repeat: Callable[[], None] = lambda: None) -> None:
        """Wait until these lines follow what was typed; ``repeat`` is called when the block is done without them."""
        texts = [".*?".join(map(re.escape, VARYING.split(line.strip()))) for line in lines.splitlines()]
        texts = [each.replace(MAIN_LANE, LANE) for each in texts]
        while not has(shown := self.text()[self._typed_at :], texts):
            assert self._shell.poll() is None, f"a command failed:\n{self.text()}"
            assert time.monotonic() < self._deadline, f"the page shows:\n{lines}\nthe terminal:\n{self.text()[-3000:]}"
            time.sleep(0.02)
            if DONE in shown:
                repeat()

    def close(self) -> None:
        self._shell.terminate()
        self._shell.communicate()

    def text(self) -> str:
        """All that was printed so far."""
        return COLOURS.sub("", self._output.read_text())


@dataclass
class Player:
    """Runs the code blocks of one page in terminals with these variables, in the folder of a clone.

    ``account`` says whether there is an AWS account, or a local stage.
    """

    clone: Path
    environ: dict[str, str]
    folder: Path
    account: bool = False
    seconds: float = 360.0
    """For all blocks of the page together: on a slow machine, one ``make load`` took more than 45 s."""
    terminals: dict[str, Terminal] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    """The code that all later blocks of a kind go on from."""
    compare: Callable[[str], None] | None = None
    """Compares a block with the output of the one before it."""

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.seconds

    def play_page(self, text: str) -> None:
        """Run all blocks of the page ``text``."""
        found = list(FENCED.finditer(text))
        assert 2 * len(found) == len(re.findall(r"^ *```", text, re.M)), "a block is indented, or its comment misspelt"
        try:
            for each in found:
                self.play(each["kind"], each["code"], each["mark"], each["value"])
        finally:
            for terminal in self.terminals.values():
                terminal.close()

    def give(self, name: str, terminal: str) -> str:
        """What a reader puts in the place of ``NAME=…`` in this terminal."""
        raise AssertionError(f"the page does not say what {name} is in the terminal of {terminal}")

    def play(self, kind: str, code: str, mark: str | None, value: str | None) -> None:
        if mark in ("file", "not run", "local stage" if self.account else "account"):
            self.compare = None
        elif mark in ("account", "local stage") and value is not None:
            for name in value.split(", "):
                self.run(name, GIVEN.sub(lambda match, name=name: self.give(match[1], name), code), repeated=False)
        elif kind == "diff":
            command = ["git", "apply", "--check", "-p0"]
            given: dict[str, Any] = {"input": code, "text": True, "cwd": self.clone}
            # A reader who has followed the page runs its test too.
            if subprocess.run([*command, "--reverse"], capture_output=True, check=False, **given).returncode:
                subprocess.run(command, check=True, **given)
        elif mark == "terminal" and value is not None:
            assert value != FIRST, f"later blocks would be typed into the program that runs there:\n{code}"
            self.play_elsewhere(kind, code, self.terminal(value))
        elif kind in PROGRAMS:
            code = self.started.get(kind, "") + code
            if mark == "start":
                self.started[kind] = code
            self.run(FIRST, PROGRAMS[kind].format(code), repeated=mark == "repeat")
        else:
            assert kind in ("text", "json"), f"say why this block is not run:\n{code}"
            assert self.compare is not None, f"nothing prints this; say why it is not run:\n{code}"
            self.compare(code)

    def run(self, name: str, code: str, *, repeated: bool) -> None:
        terminal = self.terminal(name)
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
            environ = {name: value for name, value in self.environ.items() if not name.startswith("MAKE")}
            environ["PYTHONPATH"] = "clients/python"
            self.terminals[name] = Terminal(self.folder / name, self.clone, environ, self.deadline)
        return self.terminals[name]
