"""Brings rows back from the archive of a stage. No row is overwritten or deleted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from headrace.core.errors import StoreUnavailable
from headrace.core.stream import TIME_SHARDS
from headrace.core.times import SECOND, Clock, SystemClock
from headrace.features.archive.bucket import NEW, Line, Newest, folder_of, unpack
from headrace.runtime.aws import client
from headrace.storage.s3 import Objects
from localstage.client.running_stage import stage_file
from localstage.core.errors import StageError
from localstage.core.statefile import StateFile
from ops.aws import Stack, call
from ops.copy_rows import put_if_absent
from ops.erased import SECONDS, Erased

TABLES = {
    "messages": ("CHAT_MESSAGES_TABLE", "roomId"),
    "rooms": ("ROOMS_TABLE", "roomId"),
    "memberships": ("MEMBERSHIPS_TABLE", "userId"),
    "rides": ("LIFT_RIDES_TABLE", "skierID"),
    "resorts": ("RESORTS_TABLE", "resortID"),
    "clicks": ("AD_CLICKS_TABLE", "clickId"),
    "events": ("DECLARED_TABLE", "streamKey"),
}
"""By the name in the archive: the variable with a table's name, and its partition key."""
AT_ONCE = 16
TRIES = 3
_DATED = 3
READ, WRITTEN, THERE, ERASED, EXPIRED = "read", "written", "there", "erased", "expired"


def variables_of(stack: str | None) -> Mapping[str, str]:
    """The variables of ``erase_users``, which has all tables: those of ``stack``, or else of the running local stage.

    The local stage's addresses and keys become those of this process.

    Raises:
        StageError: there is no such stage, or it has no archive that an erasure knows.
    """
    if stack is None:
        variables = StateFile(stage_file().parent).variables().get("EraseUsers", {})
        if not variables:
            raise StageError("a replay needs the feature people, which this stage leaves out")
        os.environ.update({name: value for name, value in variables.items() if name.startswith("AWS_") and value})
        return variables
    function = Stack(stack).ids("AWS::Lambda::Function").get("EraseUsers")
    if function is None:
        raise StageError(f"STACK: {stack} has no function EraseUsers: a replay needs the feature people")
    found = call("lambda", "get_function_configuration", FunctionName=function)
    return dict(found["Environment"]["Variables"])


def replay(
    variables: Mapping[str, str], bucket: str | None, streams: Sequence[str], since: str, until: str
) -> Counter[str]:
    """Write the rows of ``streams`` that a stage does not have; how many were read, written, and left out.

    ``variables`` are those of the stage, and ``bucket`` is an archive that is not its own. Rows with a time are of the
    days from ``since`` to ``until``. It can be repeated, and may run beside writers.

    Raises:
        StageError: there is no archive, or AWS refused a call.
    """
    name = bucket or variables.get("ARCHIVE_BUCKET")
    if not name:
        raise StageError("the stage has no archive: deploy it with Archive=on, or give BUCKET")
    tables = {table: (variables[variable], key) for table, (variable, key) in TABLES.items()}
    erased = Erased.by(variables["ERASURES_TABLE"], variables["ERASURE_SECRET_ARN"])
    options: Any = {"timeout": SECONDS, "attempts": 5, "connections": AT_ONCE}
    objects, dynamodb = Objects(client("s3", **options), name), client("dynamodb", **options)
    shards = int(variables.get("TIME_SHARDS_WRITTEN") or TIME_SHARDS.write)
    work = Replay(objects, dynamodb, tables, erased, SystemClock(), shards)
    counts: Counter[str] = Counter()
    try:
        for folder in work.folders(streams, since, until):
            counts += work.folder(folder)
    except (ClientError, BotoCoreError, StoreUnavailable) as error:
        raise StageError(f"{counts[WRITTEN]} rows were written, then: {error}; run it again") from None
    return counts


@dataclass(frozen=True)
class Replay:
    """Writes the rows of an archive into ``tables``, which are by their names there, each with its partition key."""

    objects: Objects
    dynamodb: Any
    tables: Mapping[str, tuple[str, str]]
    erased: Erased
    clock: Clock
    time_shards: int
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(AT_ONCE, "replay"))

    def folders(self, streams: Sequence[str], since: str, until: str) -> list[str]:
        """The folders of ``streams``: those of days from ``since`` to ``until``, and those without a day."""
        # An object that is tidied between the two listings is in the second one.
        names = (name for stream in streams for start in (NEW, "") for name in self.objects.names(f"{start}{stream}/"))
        found = sorted(set(map(folder_of, names)))
        return [each for each in found if each.count("/") < _DATED or since <= each.split("/")[1] <= until]

    def folder(self, folder: str) -> Counter[str]:
        """Bring the rows of one folder back."""
        counts: Counter[str] = Counter()
        for lines in self._lines(folder):
            now = self.clock.now() // SECOND
            alive = [line for line in lines if int(line["NewImage"].get("expiresAt", {}).get("N", now + 1)) > now]
            rows = self.erased.without([self._in_shards(line["NewImage"]) for line in alive])
            table, key = self.tables[lines[0]["Table"]] if lines else ("", "")
            done = sum(self.pool.map(lambda row, to=table, of=key: put_if_absent(self.dynamodb, to, row, of), rows))
            counts[READ] += len(lines)
            counts[EXPIRED] += len(lines) - len(alive)
            counts[ERASED] += len(alive) - len(rows)
            counts[WRITTEN] += done
            counts[THERE] += len(rows) - done
        return counts

    def _in_shards(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row in a time shard that the stage reads: an archive may be of a stage with more shards.

        Each number of shards divides the larger ones, so it is the shard that the stage itself would choose.
        """
        texts = {name: row[name]["S"] for name in ("bucketId", "resortDayId", "shardId") if name in row}
        moved = {name: f"{text[:-3]}{int(text[-3:]) % self.time_shards:03d}" for name, text in texts.items()}
        return {**row, **{name: {"S": text} for name, text in moved.items()}}

    def _lines(self, folder: str) -> Iterator[list[Line]]:
        """The lines of the rows of a folder, object by object. It is read twice: first to see which lines are newest.

        An object can be tidied meanwhile, and then has another name.
        """
        for left in reversed(range(TRIES)):
            newest = Newest()
            names = [*self.objects.names(NEW + folder), *self.objects.names(folder)]
            try:
                for name in names:
                    newest.add(unpack(self.objects.read(name)))
                for name in names:
                    yield newest.rows(unpack(self.objects.read(name)))
            except StoreUnavailable:
                if not left:
                    raise
            else:
                return
