"""Measures an echo function on the local Runtime API: invocations per second and cold start.

Run: python -m bench.runtime [seconds per measurement, default 3] [--thawed to leave idle environments running]
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import uvloop

from localstage.core.model import Function
from localstage.functions import FunctionPool, build
from localstage.functions.environment import Environment

ROOT = Path(__file__).resolve().parent.parent
ECHO = "def handler(event, context):\n    return event\n"
EVENT = b'{"body": "' + b"x" * 400 + b'"}'


async def rate(pool: FunctionPool, function_id: str, callers: int, seconds: float) -> float:
    """Invocations per second of ``callers`` that each wait for an answer before they send again."""
    end = time.perf_counter() + seconds
    done = 0

    async def call() -> None:
        nonlocal done
        while time.perf_counter() < end:
            assert (await pool.invoke(function_id, EVENT)).error is None
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*(call() for _ in range(callers)))
    return done / (time.perf_counter() - began)


async def cold_start(pool: FunctionPool, function_id: str) -> float:
    """Milliseconds until the first answer, the best of five environments."""
    best = float("inf")
    for attempt in range(5):
        began = time.perf_counter()
        answer = await pool.invoke(function_id, EVENT, dedicated_to=str(attempt))
        assert answer.cold
        best = min(best, (time.perf_counter() - began) * 1000)
    return best


async def main(seconds: float) -> None:
    built = await build([], ROOT / ".local", runtime_requirements=ROOT / "requirements" / "runtime.txt")
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "echo"
        code.mkdir()
        (code / "app.py").write_text(ECHO)
        functions = {
            f"Echo{n}": Function(f"Echo{n}", f"echo-{n}", code, "app.handler", 3.0, 512, {}, (), n) for n in (1, 2, 4)
        }
        pool = FunctionPool(
            functions,
            state_dir=Path(folder) / "state",
            layer_paths={},
            runtime_path=built.runtime,
            base_environment={},
        )
        await pool.start()
        try:
            await cold_start(pool, "Echo1")  # compiles the bytecode
            print(f"cold start                      {await cold_start(pool, 'Echo2'):8.0f} ms")
            for environments in (1, 2, 4):
                for callers in (environments, 4 * environments):
                    await rate(pool, f"Echo{environments}", callers, 0.5)
                    measured = await rate(pool, f"Echo{environments}", callers, seconds)
                    print(f"{environments} environments, {callers:2} callers      {measured:8.0f} invocations/s")
        finally:
            await pool.stop()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    numbers = [float(each) for each in sys.argv[1:] if not each.startswith("--")]
    with mock.patch.object(Environment, "freeze") if "--thawed" in sys.argv else mock.MagicMock():
        uvloop.run(main(*(numbers or [3.0])))
