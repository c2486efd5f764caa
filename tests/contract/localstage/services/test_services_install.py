"""A missing program is reported with the command that installs it; external services are checked before use."""

from __future__ import annotations

import logging
import os
import socket
import sys
from pathlib import Path

import pytest

from localstage.core.errors import MissingProgram, ServiceError
from localstage.services import Services, external_services, install

ROOT = Path(__file__).resolve().parents[4]
REAL_AWS = dict.fromkeys(("LOCALSTAGE_DYNAMODB_URL", "LOCALSTAGE_SQS_URL", "LOCALSTAGE_SECRETS_MANAGER_URL"), "aws")


@pytest.fixture
def empty_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """An environment of a user who is not root, on a machine where nothing is installed."""
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setattr(install, "EXTRA_FOLDERS", (str(empty),))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return {"PATH": str(empty)}


def services(tmp_path: Path, environ: dict[str, str]) -> Services:
    return Services(tmp_path, broker_username="headrace", broker_password="secret", environ=environ)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_missing_programs_are_named_with_the_one_command_that_installs_them(
    empty_machine: dict[str, str],
) -> None:
    with pytest.raises(MissingProgram) as refusal:
        await install.ensure_programs([install.RABBITMQ, install.REDIS], empty_machine)

    assert str(refusal.value) == (
        "RabbitMQ and Redis are not installed. "
        "Run: sudo apt-get install --no-install-recommends rabbitmq-server redis-server"
    )


_INSTALLER = """
import sys, time
from pathlib import Path
from localstage.services import install

install._POLICY = Path(sys.argv[1])
with install._no_system_services():
    print("installing", flush=True)
    time.sleep(60)
"""


_APT_GET = """\
#!/bin/sh
"$POLICY" redis-server start
echo "$? $(umask) $*" >> "$LOG"
touch "$FOLDER/redis-server"; chmod 755 "$FOLDER/redis-server"
"""


@pytest.mark.parametrize("terminal", [True, False])
async def test_an_installation_is_announced_and_starts_no_service(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "apt-get").write_text(_APT_GET)
    (tmp_path / "apt-get").chmod(0o755)
    policy, ran = tmp_path / "policy-rc.d", tmp_path / "log"
    path = f"{tmp_path}:/usr/bin:/bin"
    for name, value in {"PATH": path, "POLICY": str(policy), "LOG": str(ran), "FOLDER": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(install, "EXTRA_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(install, "_POLICY", policy)
    monkeypatch.setattr(install, "NOTICE_SECONDS", 0.01)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    far, near = os.openpty() if terminal else os.pipe()
    caplog.set_level(logging.INFO, "localstage.services")

    with os.fdopen(far), os.fdopen(near, "w") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        program = install.Program("Redis", ("redis-server",), "redis-server", "redis")
        await install.ensure_programs([program], {"PATH": str(tmp_path)})

    assert [line.split()[:2] for line in ran.read_text().splitlines()] == [["101", "0022"]] * 2
    assert not policy.exists()
    assert caplog.messages[0] == "Installing redis-server with apt-get (once)"
    assert ("It begins in 0.01 s; Ctrl-C prevents it" in caplog.messages) == terminal


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("LOCALSTAGE_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:{port}"),
        ("LOCALSTAGE_REDIS_URL", "redis://127.0.0.1:{port}"),
        ("LOCALSTAGE_DYNAMODB_URL", "http://127.0.0.1:{port}"),
        ("LOCALSTAGE_SQS_URL", "http://127.0.0.1:{port}"),
        ("LOCALSTAGE_SECRETS_MANAGER_URL", "http://127.0.0.1:{port}"),
    ],
)
async def test_an_unavailable_external_service_is_named_with_its_variable(
    tmp_path: Path, variable: str, url: str
) -> None:
    port = closed_port()
    urls = {**REAL_AWS, variable: url.format(port=port)}
    if variable != "LOCALSTAGE_RABBITMQ_URL":
        urls.setdefault("LOCALSTAGE_REDIS_URL", f"redis://127.0.0.1:{port}")

    with pytest.raises(ServiceError) as refusal:
        await services(tmp_path, {"PATH": os.environ["PATH"], **urls}).start()

    assert f"127.0.0.1:{port}" in str(refusal.value)
    assert "guest" not in str(refusal.value)


async def test_a_url_without_a_host_is_refused_with_an_example() -> None:
    with pytest.raises(ServiceError, match=r"such as scheme://user:password@127\.0\.0\.1:5672"):
        await external_services.check_rabbitmq("localhost:5672", "user", "password")
