"""Reads IRC logs: a message for each ``[hh:mm] <nick> text`` line; all other lines are recognized and counted.

The forms, as the Ubuntu channel logs have them::

    [12:18] <nick> text                     a message; the text is all after one space, byte for byte, or nothing
    === nick [host]  has joined #channel    a join; ``has left #channel [reason]`` a leave
    === a is now known as b                 a rename
    === nick text / [12:18]  * nick text    an action (``/me``)
    anything else                           other

Only the first form becomes a message. Every line counts under one kind in :class:`Log`.

* **Bytes**: a line is UTF-8, or else Latin-1. Lines end at ``\\n`` alone: control characters belong to the text.
* **Nicks**: the logger wrote a space after every ``]`` of a nick. The username is the nick without the last of those
  spaces; the user id is the nick without any of them, so that messages, joins and renames of a user agree.
* **Time**: the date is in the file's name, times are UTC. The n-th line of a minute gets n milliseconds, so lines keep
  their order, and a log that grew gives its earlier lines the same times. A clock that goes back by more than an hour
  has passed midnight, or noon in a log without hours above 12 (some have a 12-hour clock: 01:00 follows 12:59). A clock
  that goes back by less was adjusted, and the order of the lines counts.
* **Ids**: the room is ``irc-channel-`` and the file's name without its ending. The message id is a UUID of room and
  line number, so a second replay sends the same events.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace.core.texts import without_controls
from loadtest.client.chat_events import ChatEvent, iso
from localstage.client.errors import ClientError

NAMESPACE = uuid.UUID("6e4f0a52-6d0b-5c53-9d0a-8c5a6f1f4b11")
CLOCK_ADJUSTMENT = timedelta(hours=1)
"""A clock that goes back by at most this was adjusted; by more, it passed midnight or noon."""
STEP = timedelta(milliseconds=1)

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_TIMED = re.compile(r"\[([01]\d|2[0-3]):([0-5]\d)\] (.*)", re.DOTALL)
_SAID = re.compile(r"<([^>]+)>(?: (.*))?", re.DOTALL)
_JOINED = re.compile(r"=== (.+?) \[.*\]  has (joined|left) #\S+(?: .*)?", re.DOTALL)
_RENAMED = re.compile(r"=== (.+) is now known as (.+)", re.DOTALL)
_HASHES = str.maketrans("#", "\N{FULLWIDTH NUMBER SIGN}")


@dataclass(frozen=True, slots=True)
class Presence:
    """A join, leave or rename. ``kind`` is ``JOIN``, ``LEAVE`` or ``RENAME``; ``new_id`` is set for a rename.

    These lines have no time: ``timestamp`` is just after the line before.
    """

    kind: str
    user_id: str
    timestamp: str
    line: int
    new_id: str | None = None


@dataclass
class Log:
    """The content of a log. ``kinds`` counts its lines by kind; no line is before ``opened_at``."""

    path: Path
    room_id: str
    opened_at: str
    messages: list[ChatEvent] = field(default_factory=list)
    presences: list[Presence] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


def read_logs(paths: list[Path]) -> list[Log]:
    """Read ``paths`` in order of their names.

    Raises:
        ClientError: a file has no date in its name or cannot be read, or two logs would share a room.
    """
    logs = [read_log(path) for path in sorted(paths, key=lambda path: path.name)]
    rooms: dict[str, Path] = {}
    for log in logs:
        if log.room_id in rooms:
            raise ClientError(f"{log.path} and {rooms[log.room_id]} have the same name, so they would share a room")
        rooms[log.room_id] = log.path
    return logs


def read_log(path: Path) -> Log:
    """Read one log.

    Raises:
        ClientError: the file has no date in its name or cannot be read.
    """
    try:
        lines = _lines(path.read_bytes())
    except OSError as error:
        raise ClientError(f"{path} cannot be read: {error.strerror}") from None
    midnight = _date(path)
    log = Log(path, identifier(f"irc-channel-{path.stem}"), iso(midnight))
    clock = _Clock(midnight, _period(lines))
    for number, line in enumerate(lines, 1):
        log.kinds[_take(line, number, log, clock)] += 1
    return log


def identifier(name: str) -> str:
    """``name`` as the platform shows it, with a full-width ``#``, at most 128 characters."""
    return without_controls(name).translate(_HASHES)[:128]


def user_id(nick: str) -> str:
    """The user id of ``nick``: without the spaces that the logger wrote after each ``]``."""
    return identifier(nick.replace(" ", "")) or "_"


class _Clock:
    """Gives every line a time after all lines before it, and within its minute where the log allows.

    ``period`` of the clock is 12 or 24 hours.
    """

    def __init__(self, midnight: datetime, period: timedelta) -> None:
        self._period = period
        self._minute = midnight
        self._last = midnight - STEP

    def at(self, hour: int, minute: int) -> str:
        """The time of a line with the time hour:minute."""
        moment = self._minute.replace(hour=hour, minute=minute)
        if self._minute - moment > CLOCK_ADJUSTMENT:
            while moment < self._minute:
                moment += self._period
        self._minute = max(self._minute, moment)
        self._last = max(self._minute, self._last + STEP)
        return iso(self._last)

    def now(self) -> str:
        """The time of a line without one: a millisecond after the line before, or after the start of the file.

        So the interval of a nick that was in the channel from the start is not empty.
        """
        self._last = max(self._minute, self._last) + STEP
        return iso(self._last)


def _take(line: str, number: int, log: Log, clock: _Clock) -> str:
    """Add ``line`` to ``log`` and return its kind."""
    timed = _TIMED.fullmatch(line)
    if timed is None:
        return _take_untimed(line, number, log, clock)
    timestamp = clock.at(int(timed[1]), int(timed[2]))
    said = _SAID.fullmatch(timed[3])
    if said is None:
        return "action" if timed[3].startswith(" * ") else "other"
    nick, text = said[1], said[2] or ""
    message_id = str(uuid.uuid5(NAMESPACE, f"{log.room_id}:{number}"))
    log.messages.append(ChatEvent(log.room_id, message_id, timestamp, user_id(nick), text, username=identifier(nick)))
    return "message"


def _take_untimed(line: str, number: int, log: Log, clock: _Clock) -> str:
    if moved := _JOINED.fullmatch(line):
        kind = "JOIN" if moved[2] == "joined" else "LEAVE"
        log.presences.append(Presence(kind, user_id(moved[1]), clock.now(), number))
    elif renamed := _RENAMED.fullmatch(line):
        kind = "RENAME"
        log.presences.append(Presence(kind, user_id(renamed[1]), clock.now(), number, user_id(renamed[2])))
    else:
        return "action" if line.startswith("=== ") else "other"
    return kind.lower()


def _lines(content: bytes) -> list[str]:
    """Decode line by line; CR LF is the line end only if every line has it."""
    rows = content.split(b"\n")
    if rows[-1] == b"":
        rows.pop()
    if rows and all(row.endswith(b"\r") for row in rows):
        rows = [row[:-1] for row in rows]
    return list(_decoded(rows))


def _decoded(rows: list[bytes]) -> Iterator[str]:
    for row in rows:
        try:
            yield row.decode("utf-8")
        except UnicodeDecodeError:
            yield row.decode("latin-1")


def _date(path: Path) -> datetime:
    found = _DATE.search(path.name)
    try:
        if found is None:
            raise ValueError
        return datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)
    except ValueError:
        raise ClientError(f"{path} has no date in its name (expected YYYY-MM-DD)") from None


def _period(lines: list[str]) -> timedelta:
    hours = (int(timed[1]) for timed in map(_TIMED.fullmatch, lines) if timed)
    return timedelta(hours=24 if max(hours, default=0) > 12 else 12)
