"""RabbitMQ and the cache: those of the machine if they are recent, else those of a newer Debian."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from localstage.core.errors import MissingProgram
from localstage.services import debian
from localstage.services.install import run

log = logging.getLogger("localstage.services")

SUITE = "LOCALSTAGE_DEBIAN_SUITE"
"""Names the Debian suite whose programs are used, also if the machine has some: ``forky`` has RabbitMQ 4.3."""
UNPACKED = Path(__file__).parents[2] / ".local" / "debian"
"""Where they are: one place for all stages of this clone."""
# Where Debian and Homebrew put programs that are often not on a user's PATH. RabbitMQ's own folder comes first:
# the one in sbin is a wrapper that switches to the user "rabbitmq".
EXTRA_FOLDERS = (
    "/usr/lib/rabbitmq/bin",
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/sbin",
    "/opt/homebrew/bin",
)
_NUMBERS = re.compile(r"(?<!\d)\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Program:
    """A program from the system: any of ``names`` will do, from version ``oldest`` on."""

    title: str
    names: tuple[str, ...]
    oldest: tuple[int, ...]
    debian: str
    homebrew: str


RABBITMQ = Program("RabbitMQ", ("rabbitmq-server",), (3, 13), "rabbitmq-server", "rabbitmq")
REDIS = Program("Valkey", ("valkey-server", "redis-server"), (7,), "valkey-server", "valkey")


def find_program(program: Program, environ: Mapping[str, str]) -> Path | None:
    """Return where the machine has the program: in RabbitMQ's own folder, the PATH of ``environ``, or a usual place."""
    folders = os.pathsep.join([EXTRA_FOLDERS[0], environ.get("PATH", ""), *EXTRA_FOLDERS[1:]])
    found = (shutil.which(name, path=folders) for name in program.names)
    return next((Path(path) for path in found if path), None)


async def ensure_programs(programs: Sequence[Program], environ: Mapping[str, str]) -> dict[Program, Path]:
    """Return where the programs are. Where apt is, missing or old ones are first unpacked, without root.

    Where that is impossible, an old one is used, with a warning.

    Raises:
        MissingProgram: there is none; the message says what to do.
    """
    suite = environ.get(SUITE)
    installed = {program: path for program in programs if (path := find_program(program, environ)) and not suite}
    versions = {program: await _version(path, environ) for program, path in installed.items()}
    wanted = [program for program in programs if versions.get(program, ()) < program.oldest]
    if not wanted:
        return installed
    try:
        folder = await debian.ensure_unpacked(UNPACKED, suite or debian.STABLE, environ)
    except MissingProgram as error:
        if any(program not in installed for program in wanted):
            raise MissingProgram(_advice(wanted, str(error))) from None
        for program in wanted:
            version = ".".join(map(str, versions[program])) or "of an unknown version"
            log.warning("Using the machine's %s %s, which is old: %s", program.title, version, error)
        return installed
    return installed | {program: folder / program.debian for program in wanted}


async def _version(program: Path, environ: Mapping[str, str]) -> tuple[int, ...]:
    """The version of an installed program; empty if it does not tell."""
    # Its path has the version: .../rabbitmq_server-4.0.5/sbin/rabbitmq-server. RabbitMQ itself takes 2 s to say it.
    where = str(await asyncio.to_thread(program.resolve))
    command = [str(program.with_name("rabbitmqctl")), "version"] if "rabbitmq" in where else [where, "--version"]
    said = where if "rabbitmq" in where and _NUMBERS.search(where) else (await _said(command, environ))
    found = _NUMBERS.search(said)
    return tuple(map(int, found[0].split("."))) if found else ()


async def _said(command: Sequence[str], environ: Mapping[str, str]) -> str:
    try:
        return (await run(command, environ))[1]
    except OSError:
        return ""


def _advice(missing: Sequence[Program], reason: str) -> str:
    titles = " and ".join(f"{program.title} {'.'.join(map(str, program.oldest))} or newer" for program in missing)
    brew = " ".join(program.homebrew for program in missing)
    variables = " and ".join(f"LOCALSTAGE_{'RABBITMQ' if each is RABBITMQ else 'REDIS'}_URL" for each in missing)
    return (
        f"{titles} {'is' if len(missing) == 1 else 'are'} not installed, and cannot be fetched from Debian: {reason}. "
        f"Install the package (on macOS: brew install {brew}), or name running ones by {variables}."
    )
