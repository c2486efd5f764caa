"""CPU and memory of the processes below some roots, added up by a readable name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import psutil

PROGRAMS = {
    "beam.smp": "RabbitMQ",
    "epmd": "RabbitMQ",
    "redis-server": "Redis",
    "valkey-server": "Redis",
    "ministack": "SQS emulator",
    "dynalite": "DynamoDB emulator",
    "loadtest.samples": "sampling",
}
"""A word in a command, and the name of its process and of those below it."""
BOOTSTRAP = "bootstrap.py"
"""The program of a function's worker; its second argument is the function."""


def name_of(command: list[str], parent: str) -> str:
    """The name of a process with this command, whose parent has the name ``parent``: its own, or the parent's."""
    for at, word in enumerate(command[:-2]):
        if word.endswith(BOOTSTRAP):
            return command[at + 2]
    line = " ".join(command)
    return next((name for word, name in PROGRAMS.items() if word in line), parent)


class ProcessUsage:
    """The processes of the trees whose roots :meth:`take` names. CPU before the first look does not count."""

    def __init__(self) -> None:
        self._cpu: dict[psutil.Process, float] = {}
        self._looked = False

    def take(self, roots: Mapping[int, str]) -> tuple[dict[str, float], dict[str, float]]:
        """CPU seconds since the last look, and bytes of memory, by name. ``roots`` are names by process id.

        Memory is what is resident without mapped files, which the system may drop: LevelDB maps its tables.
        """
        cpu: defaultdict[str, float] = defaultdict(float)
        memory: defaultdict[str, float] = defaultdict(float)
        used: dict[psutil.Process, float] = {}
        for process, name in _named(roots):
            try:
                with process.oneshot():
                    times, memory_info = process.cpu_times(), process.memory_info()
            except psutil.Error:
                continue  # it has ended
            used[process] = times.user + times.system
            before = self._cpu.get(process, 0.0 if self._looked else used[process])
            cpu[name] += used[process] - before
            memory[name] += memory_info.rss - getattr(memory_info, "shared", 0)  # macOS does not tell
        self._cpu, self._looked = used, True
        return dict(cpu), dict(memory)


def _named(roots: Mapping[int, str]) -> Iterator[tuple[psutil.Process, str]]:
    """Every process of the trees with its name, parents first."""
    children: defaultdict[int, list[psutil.Process]] = defaultdict(list)
    todo: list[tuple[psutil.Process, str]] = []
    for process in psutil.process_iter():
        try:
            children[process.ppid()].append(process)
        except psutil.Error:
            continue
        if process.pid in roots:
            todo.append((process, roots[process.pid]))
    while todo:
        process, name = todo.pop()
        yield process, name
        for child in children[process.pid]:
            if child.pid in roots:
                continue
            try:
                todo.append((child, name_of(child.cmdline(), name)))
            except psutil.Error:
                continue
