"""No process of a service outlives its stage, also if the stage is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from localstage.services.guardian import Guardian

# Starts a service that forks away from its parent twice, as daemons do, then waits to be killed.
_OWNER = """
import asyncio, os, sys
from pathlib import Path
from localstage.services.guardian import Guardian

async def main():
    folder = Path(sys.argv[1])
    guardian = Guardian()
    await guardian.start()
    script = "setsid sh -c 'sleep 1000 & echo $! > daemon; exec sleep 1000' & echo $! > session; exec sleep 1000"
    service = await guardian.spawn(
        "service", ["/bin/sh", "-c", script], folder=folder, log=folder / "log", environment=dict(os.environ)
    )
    saver = "trap 'echo kept > saved; exit' TERM; touch ready; while :; do sleep 0.01; done"
    await guardian.spawn(
        "saver", ["/bin/sh", "-c", saver], folder=folder, log=folder / "log", environment=dict(os.environ),
        saves_at_end=True,
    )
    while not all((folder / name).exists() and (name == "ready" or (folder / name).read_text().strip())
                  for name in ("daemon", "session", "ready")):
        await asyncio.sleep(0.01)
    daemons = [(folder / name).read_text().strip() for name in ("daemon", "session")]
    print(guardian.pid, service.pid, *daemons, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def start_owner(folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner.stdout:
        return owner, [int(pid) for pid in owner.stdout.readline().split()]


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until_gone(pids: list[int]) -> None:
    while any(runs(pid) for pid in pids):  # noqa: ASYNC110 - the kernel has no event for us
        await asyncio.sleep(0.02)


async def test_all_processes_end_with_a_killed_owner_including_daemons(tmp_path: Path) -> None:
    owner, pids = start_owner(tmp_path)
    assert len(pids) == 4
    assert all(runs(pid) for pid in pids)

    owner.kill()
    owner.wait()

    await until_gone(pids)


async def test_a_service_may_save_its_state_when_the_owner_is_killed(tmp_path: Path) -> None:
    owner, pids = start_owner(tmp_path)

    owner.kill()
    owner.wait()

    await until_gone(pids)
    assert (tmp_path / "saved").read_text() == "kept\n"


async def test_a_service_dies_with_the_guardian(tmp_path: Path) -> None:
    guardian = Guardian()
    await guardian.start()
    service = await guardian.spawn(
        "service", ["/bin/sleep", "1000"], folder=tmp_path, log=tmp_path / "log", environment={}
    )
    assert guardian.pid is not None

    os.kill(guardian.pid, signal.SIGKILL)

    await until_gone([service.pid])
    await service.wait()
    await guardian.stop()


async def test_ctrl_c_in_the_terminal_does_not_reach_a_service(tmp_path: Path) -> None:
    guardian = Guardian()
    await guardian.start()
    service = await guardian.spawn(
        "service", ["/bin/sleep", "1000"], folder=tmp_path, log=tmp_path / "log", environment={}
    )
    assert guardian.pid is not None

    assert os.getpgid(service.pid) not in {os.getpgid(0), os.getpgid(guardian.pid)}
    assert os.getsid(guardian.pid) != os.getsid(0)

    await guardian.stop()
    await guardian.stop()


async def test_a_service_that_ignores_the_request_to_stop_is_killed(tmp_path: Path) -> None:
    guardian = Guardian()
    await guardian.start()
    script = "trap '' TERM; touch ready; while :; do sleep 0.01; done"
    service = await guardian.spawn(
        "stubborn", ["/bin/sh", "-c", script], folder=tmp_path, log=tmp_path / "log", environment=dict(os.environ)
    )
    while not (tmp_path / "ready").exists():  # noqa: ASYNC110 - a shell has no event for us
        await asyncio.sleep(0.01)

    await service.stop(patience=0.2)

    assert await service.wait() == -signal.SIGKILL
    await guardian.stop()
