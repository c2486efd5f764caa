"""DynamoDB, emulated by dynalite on the Node of a PyPI wheel; its tables are LevelDB files in the state folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from localstage.services import install
from localstage.services.service import HOST, Service, http_answers, plain_environment

# In this order: own_machine checks a request before consumed_capacity or change_streams may answer it.
_PRELOADS = (
    "aborted_requests",
    "failed_conditions",
    "known_parameters",
    "limits",
    "projections",
    "grouped_writes",
    "own_machine",
    "read_in_chunks",
    "consumed_capacity",
    "throttled_reads",
    "change_streams",
    "whole_batches",
    "insert_statements",
)


def node_command(packages: Path) -> tuple[list[str | Path], dict[str, str]]:
    """Node with what is loaded before dynalite, and the variables with which it finds ``packages``."""
    folder = Path(__file__).parent / "node"
    preloads = [part for name in _PRELOADS for part in ("--require", folder / f"{name}.cjs")]
    # Without __proto__ of objects, a reaction or an ad type with this name is a key like others.
    return [install.node_program(), "--disable-proto=delete", *preloads], {"NODE_PATH": str(packages)}


@dataclass(eq=False, kw_only=True)
class DynamoDb(Service):
    """Each write is on disk before it is acknowledged, so it needs no time to stop.

    Answers only clients with ``session_token``; without one, all programs of this machine. One partition key takes
    ``writes_per_key`` write units a second (``node/throughput.cjs``); 0 is no limit.
    """

    name = "DynamoDB (dynalite)"
    patience = 2.0

    packages: Path
    session_token: str = field(default="", repr=False)
    writes_per_key: int = 0

    async def launch(self) -> str:
        self.port = self.ports.take("dynamodb")
        options = {"host": HOST, "port": str(self.port), "path": str(self.folder / "data")}
        # AWS takes seconds to create a table; the stage does not simulate that.
        delays = {f"{action}TableMs": "0" for action in ("create", "update", "delete")}
        arguments = [part for name, value in {**options, **delays}.items() for part in (f"--{name}", value)]
        node, variables = node_command(self.packages)
        variables |= {"AWS_REGION": "us-east-1", "HEADRACE_SESSION_TOKEN": self.session_token}
        variables["HEADRACE_WRITES_PER_KEY"] = str(self.writes_per_key)
        self.process = await self.guardian.spawn(
            self.name,
            [*node, self.packages / "dynalite" / "cli.js", *arguments],
            log=self.folder / "dynalite.log",
            environment=plain_environment(self.environ, **variables),
        )
        await self.until_it_answers(15)
        return f"with {self.writes_per_key:,} write units/s for a partition key" if self.writes_per_key else ""

    async def answers(self) -> bool:
        return await http_answers(self.url, self.session_token)
