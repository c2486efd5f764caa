"""SQS, S3, Secrets Manager and EventBridge: MiniStack, in its own virtual environment.

MiniStack pins botocore exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from localstage.core.model import ACCOUNT
from localstage.services.service import HOST, Service, http_answers, plain_environment

SECRET_KEY = "local"  # noqa: S105 - it is no secret
"""The secret key of whoever calls the emulators."""
_ROOT = Path(__file__).parents[2]
_SERVER = """\
bind = ["{address}"]
graceful_timeout = 0.2
keep_alive_timeout = 75
workers = 0
loglevel = "WARNING"
"""


@dataclass(eq=False, kw_only=True)
class MiniStack(Service):
    """MiniStack as the ASGI application ``app``, with ``settings`` in its environment.

    Served by Hypercorn directly: with MiniStack's own command, open long polls delay its end, and its saving, by up to
    3 s.
    """

    port_name: ClassVar[str] = "aws"
    app: ClassVar[str] = "localstage.ministack:app"
    patience_at_start: ClassVar[float] = 20.0

    python: Path
    session_token: str = field(default="", repr=False)

    def settings(self) -> dict[str, str]:
        """More variables of MiniStack."""
        return {}

    async def launch(self) -> str:
        self.port = self.ports.take(self.port_name)
        settings = {
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_HOST": HOST,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "BIND_HOST": HOST,
            "LOG_LEVEL": "WARNING",
            # Disabled: these would listen on well-known ports.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            # Do not look for a container engine.
            "DOCKER_HOST": f"unix://{self.folder}/none.sock",
            "TMPDIR": str(self.folder),
            "HOME": str(self.folder),
            # For the application, which answers in front of MiniStack.
            "PYTHONPATH": str(_ROOT),
            **self.settings(),
        }
        config = self.folder / "hypercorn.toml"
        config.write_text(_SERVER.format(address=self.address))
        self.process = await self.guardian.spawn(
            self.name,
            [self.python, "-m", "hypercorn", "--config", str(config), self.app],
            log=self.folder / "ministack.log",
            environment=plain_environment(self.environ, **settings),
            saves_at_end="PERSIST_STATE" in settings,
        )
        await self.until_it_answers(self.patience_at_start)
        return ""

    async def answers(self) -> bool:
        return await http_answers(f"{self.url}/_ministack/health", self.session_token)


class Aws(MiniStack):
    """Holds its queues in memory and writes them to ``folder/state`` on SIGTERM, also from the guardian.

    Answers only clients with ``session_token``; without one, all programs of this machine.
    """

    name = "SQS, S3 and Secrets Manager (MiniStack)"

    def settings(self) -> dict[str, str]:
        return {
            "PERSIST_STATE": "1",
            "STATE_DIR": str(self.folder / "state"),
            "SERVICES": "sqs,s3,secretsmanager,events",
            # Objects of S3 are written when they are put.
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(self.folder / "s3"),
            # What links to objects are signed with.
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_SESSION_TOKEN": self.session_token,
            "HEADRACE_SESSION_TOKEN": self.session_token,
        }
