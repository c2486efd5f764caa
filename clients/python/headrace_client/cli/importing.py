"""Imports a file into a declared stream. It can be killed at any moment, and started again.

Beside the file are ``FILE.headrace``, which says how many of its lines are done, and ``FILE.refused.jsonl`` with the
number and the error of each refused line. Lines that were sent, and were not done when the program ended, are sent
again as the same events: a line without an id gets one of the file's content and the line's number, and a line without
a time gets that of the file, which ``FILE.headrace`` keeps.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

import click

from .. import AsyncHeadrace, AsyncStream
from ..errors import error_of, explained
from ..http import HTTP_EVENTS
from .questions import decode
from .show import visible

IN_FLIGHT = 4
"""Requests at once."""
LONGEST = 400_000
"""Characters of a line; no row can be longer. Of a longer line the beginning is read, and refused."""
SHOWN = 10
"""Refused lines that are printed."""
INVALID = "invalid_event"
"""The code of a refused event. Other errors are of the whole request, and would come for each line."""


@dataclass
class Kept:
    """What ``FILE.headrace`` has: which import it is of, how many lines are ``done``, and what became of their events.

    ``refused_bytes`` is the size of ``FILE.refused.jsonl``.
    """

    stream: str
    url: str
    sender: str
    content: str
    time: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    done: int = 0
    accepted: int = 0
    refused: int = 0
    refused_bytes: int = 0


class Line(NamedTuple):
    """An event, and the number of its last line. What is no event has an error at once."""

    number: int
    event: dict[str, Any]
    error: Any = None


class Import:
    """The import of a file into a ``stream`` of the stage at ``url``, by the user ``sender``.

    Raises:
        ValueError: ``FILE.headrace`` is of another import, or cannot be read.
        OSError: the file cannot be read, or nothing can be written beside it.
    """

    def __init__(self, file: Path, **of: Any) -> None:
        self.file = file
        self.kept_in, self.refused_in = (file.with_name(f"{file.name}.{end}") for end in ("headrace", "refused.jsonl"))
        with file.open("rb") as opened:
            of["content"] = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
            opened.seek(0)
            self.lines = sum(chunk.count(b"\n") for chunk in iter(partial(opened.read, LONGEST), b""))
        self.kept = Kept(**of)
        if self.kept_in.exists():
            try:
                known = Kept(**json.loads(self.kept_in.read_text(encoding="utf-8")))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{self.kept_in} cannot be read: {error}") from None
            other = [
                f"its {name} was {was!r}, and is {of[name]!r} now"
                for name in of
                if (was := getattr(known, name)) != of[name]
            ]
            if other and known.done:
                what = f"{self.kept_in} is of another import: {other[0]}"
                raise ValueError(f"{what}; give FILE another name, or delete this one to send all lines as new events")
            self.kept = self.kept if other else known
        self._keep()  # before the first event is sent: the time must stay

    async def run(self, client: AsyncHeadrace, show: Callable[[int], object]) -> None:
        """Send the lines that are not done; ``show`` gets how many are.

        Raises:
            Refused: the stage refuses a whole request.
            Unavailable: no event was accepted for ``SendSettings.retry_timeout``.
            ValueError: a column of a CSV file is no field of the stream.
        """
        streams = [AsyncStream(client, self.kept.stream) for _ in range(IN_FLIGHT)]
        sending: deque[asyncio.Task[list[Line]]] = deque()
        with (
            self.file.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file,
            self.refused_in.open("ab") as refused,
        ):
            refused.truncate(min(refused.tell(), self.kept.refused_bytes))
            async with client:
                lines = _json_lines(file)
                if self.file.suffix.lower() == ".csv":
                    lines = _csv_lines(file, (await streams[0].describe())["schema"]["properties"])
                left = (self._identified(line) for line in lines if line.number > self.kept.done)
                try:
                    while (batch := list(islice(left, HTTP_EVENTS))) or sending:
                        if batch:
                            sending.append(asyncio.create_task(_sent(streams[0], batch)))
                            streams.append(streams.pop(0))  # each sends one request at a time
                        if len(sending) == IN_FLIGHT or not batch:
                            self._settle(await sending.popleft(), refused)
                            show(self.kept.done)
                finally:
                    for task in sending:
                        task.cancel()
                    await asyncio.gather(*sending, return_exceptions=True)
        if not self.kept.refused:
            self.refused_in.unlink()

    def _identified(self, line: Line) -> Line:
        """The line with an id, and with a time, unless its event has an id."""
        if line.event.get("eventId") is not None:
            return line
        event = {**line.event, "eventId": f"{self.kept.content}-{line.number:09d}"}
        if event.get("timestamp") is None:
            event["timestamp"] = self.kept.time
        return line._replace(event=event)

    def _settle(self, lines: list[Line], refused: BinaryIO) -> None:
        for number, _, error in lines:
            if error is None:
                self.kept.accepted += 1
                continue
            if self.kept.refused < SHOWN:
                click.echo(f"line {number}: {visible(explained(error))}", err=True)
            refused.write(json.dumps({"line": number, "error": error}).encode() + b"\n")
            self.kept.refused += 1
        refused.flush()
        os.fsync(refused.fileno())
        self.kept.done, self.kept.refused_bytes = lines[-1].number, refused.tell()
        self._keep()

    def _keep(self) -> None:
        """Replace ``FILE.headrace``, which is whole at any moment."""
        made = self.kept_in.with_name(f"{self.kept_in.name}.new")
        with made.open("w", encoding="utf-8") as file:
            json.dump(asdict(self.kept), file)
            file.flush()
            os.fsync(file.fileno())
        made.replace(self.kept_in)


async def _sent(stream: AsyncStream, lines: list[Line]) -> list[Line]:
    """The lines after they were sent, with the errors of those that are refused."""
    sent = iter(await stream.send_many(line.event for line in lines if line.error is None))
    lines = [line if line.error else line._replace(error=next(sent).error) for line in lines]
    for line in lines:
        if line.error and line.error["code"] != INVALID:
            raise error_of(line.error)
    return lines


def _lines(file: TextIO) -> Iterator[str]:
    """Each line; of one that is too long, the beginning."""
    while line := file.readline(LONGEST):
        rest = line
        while len(rest) == LONGEST and not rest.endswith("\n"):
            rest = file.readline(LONGEST)
        yield line


def _json_lines(file: TextIO) -> Iterator[Line]:
    """The events of a file of JSON lines; empty lines are left out."""
    for number, line in enumerate(_lines(file), 1):
        event, why = None, ""
        try:
            event = decode(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            why = f": {getattr(error, 'msg', error)}"
        if isinstance(event, dict):
            yield Line(number, event)
        elif line.strip():
            yield Line(number, {}, _wrong(f"is not a JSON object{why}", "a JSON object on one line"))


def _csv_lines(file: TextIO, fields: Mapping[str, Any]) -> Iterator[Line]:
    """The events of a CSV file; empty cells are left out."""
    reader = csv.DictReader(_lines(file), restkey="a cell without a name")
    try:
        names = list(reader.fieldnames or ())
    except csv.Error as error:
        raise ValueError(f"the first line is not CSV: {error}") from None
    if wrong := [name for name in names if name not in fields or names.count(name) > 1]:
        raise ValueError(f"the column {wrong[0]!r} is no field, or there twice; allowed: {', '.join(fields)}")
    # A time is a text or a number. What is only a text stays one.
    kinds = {name: {str(each.get("type")) for each in schema.get("anyOf", [schema])} for name, schema in fields.items()}
    texts = {name for name in kinds if kinds[name] <= {"string", "null"}}
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(reader.line_num, {}, _wrong(f"is not CSV: {error}", "a row as in RFC 4180"))
        else:
            cells = ((name, cell) for name, cell in row.items() if cell)
            yield Line(reader.line_num, {name: cell if name in texts else _value(cell) for name, cell in cells})


def _value(cell: str) -> Any:
    """The number, ``true`` or ``false`` in a cell. Another cell stays a text, and the stage says what is allowed."""
    try:
        value = decode(cell)
    except (ValueError, TypeError, RecursionError):
        return cell
    return value if isinstance(value, (int, float)) else cell


def _wrong(message: str, form: str) -> dict[str, Any]:
    """The error of a line that is no event, in the form of the stage's errors."""
    details = [{"field": "line", "message": message, "allowed": form}]
    return {"code": INVALID, "message": f"line {message}", "details": details}
