"""RabbitMQ, its Erlang, and Valkey from a newer Debian, unpacked into a folder without root.

apt's own tools find, download and verify the packages: the suite by the Debian archive keyring, each package by its
SHA-256. The programs run with the loader and the C library of their suite, so the machine's own may be older.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from localstage.core.errors import MissingProgram
from localstage.services.install import last_line, once, real, run

log = logging.getLogger("localstage.services")

STABLE = "trixie"
"""The suite with RabbitMQ 4.0. ``forky`` has 4.3."""
_ASKED = ("rabbitmq-server", "valkey-server")
_UNPACKED = re.compile(r"rabbitmq-server|erlang-.+|valkey-.+|zlib1g|lib(?!python|pam|db|debconf|sem|sepol|sqlite).+")
"""What is taken of the closure of ``_ASKED``: the programs and libraries, without Python, PAM and what sets them up."""
_MACHINE = Path("/")
_KEYRING = "debian-archive-keyring"
_KEYRINGS = (*(f"usr/share/keyrings/{_KEYRING}.{end}" for end in ("gpg", "pgp")),)
_FRESH_SECONDS = 7 * 24 * 3600
"""How long a list of packages is used without asking for a newer one."""
_CONF = """\
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Architectures;
APT {{ Architectures {{ "{architecture}"; }}; Sandbox::User "root"; }};
Dir::Etc {{ sourcelist "{folder}/debian.sources"; sourceparts "/dev/null"; }};
Dir::Etc {{ preferences "/dev/null"; preferencesparts "/dev/null"; }};
Dir::State "{folder}"; Dir::State {{ Lists "{folder}/lists"; status "{folder}/status"; }};
Dir::Cache "{folder}"; Dir::Cache {{ archives "{folder}/archives"; pkgcache "packages.bin"; srcpkgcache "all.bin"; }};
APT::Get::AllowUnauthenticated "false";
Acquire {{ AllowInsecureRepositories "false"; AllowDowngradeToInsecureRepositories "false"; }};
Acquire {{ Languages "none"; IndexTargets {{ deb::DEP-11::DefaultEnabled "false"; }}; }};
"""
_SOURCES = """\
Types: deb
URIs: {mirror}
Suites: {suite}
Components: main
Signed-By: {keyring}
"""


async def ensure_unpacked(place: Path, suite: str, environ: Mapping[str, str]) -> Path:
    """Return the folder with the programs of ``suite``; the first time they are fetched and unpacked below ``place``.

    The packages are kept in the user's cache, for other clones.

    Raises:
        MissingProgram: they cannot be fetched; the message says why.
    """
    folder = real(place / suite)
    where = folder / "place"  # the programs know it, so a clone that was moved unpacks them again
    where.write_text(str(folder))
    async with once(folder, [Path(__file__), where]) as needed:
        if needed:
            for tool in ("apt-get", "dpkg-deb"):
                if shutil.which(tool, path=environ.get("PATH", "")) is None:
                    raise MissingProgram(f"{tool} is missing, which fetches it on Debian and Ubuntu")
            log.info("Fetching RabbitMQ and Valkey from Debian %s (once)", suite)
            packages = await _Archive(suite, environ).packages()
            root = folder / "root"
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir()
            await _unpack(packages, root)
            await asyncio.to_thread(_settle, root, folder / "bin")
    return folder / "bin"


class _Archive:
    """A suite of Debian's archive, read by apt without root, with its files in the user's cache."""

    def __init__(self, suite: str, environ: Mapping[str, str]) -> None:
        caches = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME') or Path.home()}/.cache"
        self._folder = Path(caches) / "headrace" / suite
        self._suite = suite
        self._environment = {**environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}

    async def packages(self) -> list[Path]:
        """Download what is not in the cache; all packages, verified."""
        archives = self._folder / "packages"
        for each in (self._folder / "lists" / "partial", self._folder / "archives" / "partial", archives):
            each.mkdir(parents=True, exist_ok=True)
        async with once(self._folder, []):  # one process at a time
            names = self._folder / "names"
            if names.exists() and time.time() - names.stat().st_mtime < _FRESH_SECONDS:
                with suppress(MissingProgram):  # the archive may have newer versions by now
                    return await self._download(names.read_text().split(), archives)
            try:
                names.write_text("\n".join(await self._names()))
            except MissingProgram:
                if not names.exists():
                    raise
            return await self._download(names.read_text().split(), archives)

    async def _names(self) -> list[str]:
        """Read the suite's list, and find the packages that are needed."""
        await self._configure()
        await self._apt("update", "-qq", "--error-on=any")
        asked = ["install", "-qq", "--print-uris", "--no-install-recommends", *_ASKED]
        files = re.findall(r"^'.*' (\S+)_\S+_\S+\.deb ", await self._apt(*asked), re.MULTILINE)
        names = [name for name in files if _UNPACKED.fullmatch(name)]
        if not {*_ASKED} <= {*names}:
            raise MissingProgram(f"Debian {self._suite} has no {' or no '.join(_ASKED)}")
        return names

    async def _download(self, names: Sequence[str], archives: Path) -> list[Path]:
        """The files of the packages, with the hashes that the signed list names."""
        # In another folder, because apt does not print what exists already.
        listed = await self._apt("download", "-qq", "--print-uris", *names, folder=self._folder)
        found = re.findall(r" (\S+) \d+ SHA256:(\w+)\s*$", listed, re.MULTILINE)
        if len(found) != len(names):
            raise MissingProgram(f"the list of Debian {self._suite} has no SHA-256 of some packages")
        hashes = {archives / file: sha for file, sha in found}
        if missing := await asyncio.to_thread(_missing, hashes):
            packages = [file.name.partition("_")[0] for file in missing]
            await self._apt("download", "-qq", *packages, folder=archives)
            if await asyncio.to_thread(_missing, hashes):
                raise MissingProgram(f"packages of Debian {self._suite} have another SHA-256 than its list says")
        return list(hashes)

    async def _apt(self, *arguments: str, folder: Path | None = None) -> str:
        command = ["apt-get", "-c", str(self._folder / "apt.conf"), *arguments]
        code, output = await run(command, self._environment, folder)
        if code != 0:
            raise MissingProgram(f"apt-get {arguments[0]} of Debian {self._suite} says: {last_line(output)}")
        return output

    async def _configure(self) -> None:
        architecture = (await self._ask("dpkg", "--print-architecture")).strip()
        (self._folder / "status").touch()
        (self._folder / "apt.conf").write_text(_CONF.format(folder=self._folder, architecture=architecture))
        sources = self._folder / "debian.sources"
        sources.touch(mode=0o600)  # the address of a mirror may have a password in it
        sources.write_text(
            _SOURCES.format(mirror=await self._mirror(), suite=self._suite, keyring=await self._keyring())
        )

    async def _mirror(self) -> str:
        """``LOCALSTAGE_DEBIAN_MIRROR``, or where apt reads Debian itself, not its updates or others' packages."""
        if mirror := self._environment.get("LOCALSTAGE_DEBIAN_MIRROR"):
            return mirror
        found = await self._ask("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)")
        system = platform.freedesktop_os_release()
        suites = {system.get("VERSION_CODENAME"), "stable", "testing", "unstable", "sid"}
        lines = [line.split() for line in found.splitlines()] if system["ID"] == "debian" else []
        for line in lines:
            if line[1] in suites and line[2:] == ["main"]:
                return line[0]
        raise MissingProgram("apt reads no Debian here; set LOCALSTAGE_DEBIAN_MIRROR to the URL of a mirror of Debian")

    async def _keyring(self) -> Path:
        """The machine's Debian archive keyring, or that of its package, which the machine's own apt verifies."""
        machines = [_MACHINE / each for each in _KEYRINGS]
        fetched = [self._folder / "keyring" / each for each in _KEYRINGS]
        if not any(each.exists() for each in (*machines, *fetched)):
            folder = self._folder / "keyring"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            await self._ask("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", _KEYRING, folder=folder)
            await _unpack(list(folder.glob("*.deb")), folder)
        return next(each for each in (*machines, *fetched) if each.exists())

    async def _ask(self, *command: str, folder: Path | None = None) -> str:
        code, output = await run(command, self._environment, folder)
        if code != 0:
            raise MissingProgram(f"{' '.join(command[:2])} says: {last_line(output)}")
        return output


def _missing(hashes: Mapping[Path, str]) -> list[Path]:
    """The files that do not exist, or that had a wrong SHA-256 and are deleted now."""
    missing = [
        file for file, sha in hashes.items() if not file.exists() or sha256(file.read_bytes()).hexdigest() != sha
    ]
    for file in missing:
        file.unlink(missing_ok=True)
    return missing


async def _unpack(packages: Sequence[Path], root: Path) -> None:
    free = asyncio.Semaphore(os.cpu_count() or 1)

    async def unpack(package: Path) -> None:
        async with free:
            code, output = await run(["dpkg-deb", "-x", str(package), str(root)], dict(os.environ))
        if code != 0:
            raise MissingProgram(f"dpkg-deb says: {last_line(output)}")

    await asyncio.gather(*(unpack(package) for package in packages))


def _settle(root: Path, programs: Path) -> None:
    """Make what was unpacked run from ``root``, and put the commands into the folder ``programs``."""
    (loader,) = root.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*")
    for folder in (root / "usr/lib/erlang", root / "usr/bin"):
        for file in [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]:
            with file.open("rb") as opened:
                start = opened.read(4096)
            if start.startswith(b"\x7fELF") and b"/ld-linux" in start:  # a program, not a library
                _wrap(file, loader)
    for erl in root.glob("usr/lib/erlang/**/bin/erl"):  # a node that joins a cluster starts the one below erts
        erl.write_text(erl.read_text().replace("ROOTDIR=/usr/lib/erlang", f"ROOTDIR='{root}/usr/lib/erlang'"))
    programs.mkdir(exist_ok=True)
    for name in ("rabbitmq-server", "rabbitmqctl", "rabbitmq-queues", "rabbitmq-diagnostics"):
        path = f"export PATH='{root}/usr/lib/erlang/bin':\"$PATH\""
        _script(programs / name, f"{path}\nexec '{root}/usr/lib/rabbitmq/bin/{name}' \"$@\"")
    for name in ("epmd", "valkey-server"):
        _script(programs / name, f"exec '{root}/usr/bin/{name}' \"$@\"")


def _wrap(program: Path, loader: Path) -> None:
    """Start ``program`` by the loader of its suite. Programs that it starts use the machine's loader."""
    real = program.with_name(f"{program.name}.elf")
    program.rename(real)
    _script(program, f"exec '{loader}' --argv0 \"$0\" --library-path '{loader.parent}' '{real}' \"$@\"")


def _script(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
