"""Functions written into a temporary folder, and a pool that runs them under the real runtime."""

from __future__ import annotations

import asyncio
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localstage.core.invoker import Invocation
from localstage.core.model import Function, Layer
from localstage.functions import FunctionPool, PoolSettings

ECHO = "def handler(event, context):\n    return event\n"


@dataclass
class Stage:
    """A pool of functions made from source text."""

    folder: Path
    runtime: Path
    pools: list[FunctionPool] = field(default_factory=list)

    def function(self, source: str, *, id: str = "Fn", timeout: float = 10.0, **more: Any) -> Function:
        code = self.folder / "functions" / id.lower()
        code.mkdir(parents=True, exist_ok=True)
        (code / "app.py").write_text(textwrap.dedent(source))
        layers: tuple[Layer, ...] = more.pop("layers", ())
        environment: Mapping[str, str] = more.pop("environment", {})
        return Function(
            id, id.lower(), code, "app.handler", timeout, more.pop("memory", 256), environment, layers, **more
        )

    async def run(self, *functions: Function, **options: Any) -> FunctionPool:
        settings = PoolSettings(
            state_dir=self.folder / "state",
            layer_paths=options.pop("layer_paths", {}),
            runtime_path=self.runtime,
            base_environment=options.pop("base_environment", {"AWS_REGION": "eu-central-1"}),
            max_environments=options.pop("max_environments", 4),
            **options,
        )
        pool = FunctionPool({function.id: function for function in functions}, settings)
        await pool.start()
        self.pools.append(pool)
        return pool

    def log(self, id: str = "Fn") -> str:
        """The function's log; empty before its first process."""
        path = self.folder / "state" / "logs" / f"{id}.log"
        return path.read_text() if path.exists() else ""


async def answer_of(pool: FunctionPool, event: Any = None, *, id: str = "Fn", dedicated_to: str | None = None) -> Any:
    """The function's answer; fails when it is an error."""
    answer = await pool.invoke(id, json.dumps(event).encode(), dedicated_to=dedicated_to)
    assert answer.error is None, answer
    return json.loads(answer.payload)


def error_of(answer: Invocation) -> str:
    return str(json.loads(answer.payload)["errorType"])


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; pytest's timeout ends the wait otherwise."""
    while not condition():  # noqa: ASYNC110  (the kernel sets no asyncio.Event)
        await asyncio.sleep(0.005)


def switches_of(pid: int) -> int:
    """How often the threads of a process have stopped running: it grows whenever one of them runs."""
    statuses = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(number) for text in statuses for number in re.findall(r"ctxt_switches:\s+(\d+)", text))


def state_of(pid: int) -> str | None:
    """The process's state letter as in ps, ``None`` when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None
