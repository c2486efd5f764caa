"""Logs of rooms in Redis or Valkey: two keys per room, changed and read by scripts.

The first key has the tag of the newest frame, for a day. The second has the frames, each as a line
``tag time items``, for two minutes after the last one. Its first line may be a tag only, which the next one follows.
The log is complete from there to the newest frame: where a frame is not appended, the others are deleted. The keys of a
room have one hash tag, so they are on one node of a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.errors import CacheUnavailable
from headrace.core.keys import channel_user, newest_page, room_key
from headrace.live.hints import live_marker
from headrace.runtime.breaker import Cooldown
from headrace.storage.redis import Cache, Command
from headrace.streams.chat.messages.positions import new_tag
from headrace.streams.chat.messages.room_log import Appended, Batch, LoggedFrame, Since

TAG_MILLISECONDS = 24 * 3600 * 1000
LOG_MILLISECONDS = 120 * 1000
"""With the overlap of positions, 40 s, a longer gap costs at most a third more than what was missed."""
LOG_BYTES = 512 * 1024
"""Beyond it, the older half of a log is dropped."""

_APPEND = """
local follows, mark = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[3])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('DEL', KEYS[4])
if (mark == 'none' and ARGV[6] == '') or ARGV[2] == '' then
  redis.call('DEL', KEYS[2])
  return {follows, mark}
end
if not follows then redis.call('DEL', KEYS[2]) end
local lines = ARGV[2]
if redis.call('EXISTS', KEYS[2]) == 0 then lines = '\\n' .. (follows or '') .. ' ' .. lines end
if redis.call('APPEND', KEYS[2], lines) > tonumber(ARGV[5]) then
  local log = redis.call('GET', KEYS[2])
  local at = string.find(log, '\\n', math.floor(#log / 2), true)
  redis.call('SET', KEYS[2], at and string.sub(log, at) or '')
end
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return {follows, mark}
"""

_SINCE = """
local newest = redis.call('GET', KEYS[1])
if not newest then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  redis.call('DEL', KEYS[2])
  return {ARGV[2], false}
end
if newest == ARGV[1] then return {newest, ''} end
if ARGV[1] == '' then return {newest, false} end
local log = redis.call('GET', KEYS[2]) or ''
local _, at = string.find(log, '\\n' .. ARGV[1] .. ' ', 1, true)
local after = at and string.find(log, '\\n', at, true)
return {newest, after and string.sub(log, after) or false}
"""


class RoomLog:
    """The logs of rooms. Every method may raise :class:`~headrace.core.errors.CacheUnavailable`."""

    def __init__(self, commands: Cache) -> None:
        self._commands = commands
        self._cooldown = Cooldown()

    @property
    def is_unavailable(self) -> bool:
        """Whether :meth:`append` failed a moment ago, so that the next one may fail too."""
        return self._cooldown.is_active

    def append(self, batches: Mapping[str, Batch]) -> dict[str, Appended]:
        """Append a batch to each room, and delete the cached newest pages of these rooms.

        After an error it is unknown whether they were appended.
        """
        try:
            answers = self._commands.run([_append(room_id, batch) for room_id, batch in batches.items()])
        except CacheUnavailable:
            self._cooldown.start()
            raise
        return {
            room_id: Appended(follows.decode() if follows else "", mark)
            for room_id, (follows, mark) in zip(batches, answers, strict=True)
        }

    def since(self, tags: Mapping[str, str]) -> dict[str, Since]:
        """What is known of each room since a tag. A room without frames gets a tag, which its next frame follows."""
        answers = self._commands.run(
            [("EVAL", _SINCE, 2, *_keys(room_id), tag, new_tag(), TAG_MILLISECONDS) for room_id, tag in tags.items()]
        )
        return {
            room_id: Since(newest.decode(), None if log is None else _frames(log.decode()))
            for room_id, (newest, log) in zip(tags, answers, strict=True)
        }


def _keys(room_id: str) -> tuple[str, str]:
    return room_key("tag", room_id), room_key("log", room_id)


def _append(room_id: str, batch: Batch) -> Command:
    lines = "".join(f"\n{each.tag} {each.time} {each.items}" for each in batch.frames)
    keys = (*_keys(room_id), live_marker(room_id), newest_page(room_id))
    # A user who follows over one connection has no subscription while it is cut.
    always = "" if channel_user(room_id) is None else "always"
    return "EVAL", _APPEND, 4, *keys, batch.tag, lines, TAG_MILLISECONDS, LOG_MILLISECONDS, LOG_BYTES, always


def _frames(log: str) -> list[LoggedFrame]:
    parts = (line.split(" ", 2) for line in log.split("\n")[1:])
    return [LoggedFrame(tag, int(time), items) for tag, time, items in parts]
