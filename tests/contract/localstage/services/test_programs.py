"""RabbitMQ and Valkey come from the machine, if it has recent ones, or from Debian's archive, verified."""

from __future__ import annotations

import logging
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from localstage.core.errors import MissingProgram
from localstage.services import debian, programs
from localstage.services.programs import RABBITMQ, REDIS, ensure_programs


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the programs of a machine that has none, and no apt either."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(programs, "EXTRA_FOLDERS", (str(folder),))
    monkeypatch.setattr(programs, "UNPACKED", tmp_path / "unpacked")
    return folder


def put_rabbitmq(machine: Path, version: str) -> Path:
    """Install a RabbitMQ as Debian and Homebrew do: a link to a folder with the version in its name."""
    real = machine.parent / f"rabbitmq_server-{version}" / "rabbitmq-server"
    real.parent.mkdir()
    put(real, "")
    (machine / "rabbitmq-server").symlink_to(real)
    return machine / "rabbitmq-server"


def put(file: Path, output: str) -> Path:
    file.write_text(f"#!/bin/sh\necho '{output}'\n")
    file.chmod(0o755)
    return file


async def test_an_old_program_is_used_with_a_warning_if_no_other_can_be_fetched(
    machine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rabbitmq = put_rabbitmq(machine, "3.10.8")

    with caplog.at_level(logging.WARNING):
        found = await ensure_programs([RABBITMQ], {"PATH": str(machine)})

    assert found == {RABBITMQ: rabbitmq}
    assert caplog.messages == [
        "Using the machine's RabbitMQ 3.10.8, which is old: apt-get is missing, which fetches it on Debian and Ubuntu"
    ]


async def test_missing_programs_are_named_with_what_to_do(machine: Path) -> None:
    with pytest.raises(MissingProgram) as refusal:
        await ensure_programs([RABBITMQ, REDIS], {"PATH": str(machine)})

    assert str(refusal.value) == (
        "RabbitMQ 3.13 or newer and Valkey 7 or newer are not installed, and cannot be fetched from Debian: "
        "apt-get is missing, which fetches it on Debian and Ubuntu. Install the package (on macOS: brew install "
        "rabbitmq valkey), or name running ones by LOCALSTAGE_RABBITMQ_URL and LOCALSTAGE_REDIS_URL."
    )


@pytest.fixture
async def cache(tmp_path: Path) -> Path:
    """A copy of the user's cache of packages."""
    await debian._Archive(debian.STABLE, os.environ).packages()
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    copy = tmp_path / "cache"
    shutil.copytree(users / "headrace" / debian.STABLE, copy / "headrace" / debian.STABLE)
    settings = copy / "headrace" / debian.STABLE / "apt.conf"
    settings.write_text(settings.read_text().replace(str(users / "headrace"), str(copy / "headrace")))
    return copy


def one(cache: Path, pattern: str) -> Path:
    return next(cache.glob(f"headrace/*/{pattern}"))


async def test_a_changed_package_is_fetched_again_and_never_unpacked(cache: Path) -> None:
    package = one(cache, "packages/zlib1g_*.deb")
    true = sha256(package.read_bytes()).digest()
    package.write_bytes(package.read_bytes()[:-1] + b"?")

    found = await debian._Archive(debian.STABLE, {**os.environ, "XDG_CACHE_HOME": str(cache)}).packages()

    assert package in found
    assert sha256(package.read_bytes()).digest() == true


async def test_a_list_of_packages_that_debian_did_not_sign_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tmp_path / "mirror" / "dists" / debian.STABLE
    suite.mkdir(parents=True)
    signed = one(cache, "lists/*_InRelease").read_text()
    (suite / "InRelease").write_text(signed.replace("Origin: Debian", "Origin: Stranger"))

    async def mirror(_: object) -> str:
        return f"file://{tmp_path}/mirror"

    monkeypatch.setattr(debian._Archive, "_mirror", mirror)
    with pytest.raises(MissingProgram, match="sign"):
        await debian._Archive(debian.STABLE, {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "empty")}).packages()
