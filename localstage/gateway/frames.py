"""What aiohttp's parser does not check in WebSocket frames: API Gateway's limits, and masks.

aiohttp joins the fragments of a message and does not expose frames, but API Gateway's limits are 32 KB for a frame and
128 KB for a message. It also reads frames without a mask, which a server must refuse (RFC 6455, 5.1). The guard reads
the frame headers in the byte stream (about a microsecond per frame) and passes the bytes on untouched. After a refused
frame it passes on control frames only, so that the closing handshake still works and the client is not cut off while
it sends.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

MAX_FRAME = 32 * 1024
MAX_MESSAGE = 128 * 1024

PROTOCOL_ERROR, TOO_BIG = 1002, 1009
"""Close codes."""

_PING = b"\x89\x00"


class ByteParser(Protocol):
    """What aiohttp feeds with a connection's bytes after an upgrade."""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Parse some bytes; returns whether the stream ended, and the unused bytes."""
        ...

    def feed_eof(self) -> None:
        """Handle the end of the stream."""
        ...


class _Header(NamedTuple):
    size: int
    payload: int
    control: bool
    final: bool
    masked: bool


class FrameGuard:
    """Passes frames to ``parser`` until one is refused; then ``close_code`` is set and data frames are dropped.

    A ping replaces the offending frame and wakes the reader of messages.
    """

    def __init__(self, parser: ByteParser) -> None:
        self._parser = parser
        self._held = b""
        self._remaining = 0
        self._message = 0
        self._dropping = False
        self.close_code = 0

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Pass on the frames that are allowed."""
        if self._held:
            data, self._held = self._held + data, b""
        result = (False, b"")
        size, position, start = len(data), 0, 0
        while position < size:
            if self._remaining:
                step = min(self._remaining, size - position)
                self._remaining -= step
                position += step
                if self._dropping:
                    start = position
                continue
            header = _read_header(data, position)
            if header is None:
                break
            code = self._code_of(header)
            self._dropping = code != 0
            if self._dropping:
                result = self._pass_on(data[start:position])
                self._refuse(code)
                start = position + header.size
            position += header.size
            self._remaining = header.payload
        if start < position:
            result = self._pass_on(data if start == 0 and position == size else data[start:position])
        self._held = data[position:]
        return result

    def feed_eof(self) -> None:
        """Pass the end of the stream on."""
        self._parser.feed_eof()

    def _code_of(self, header: _Header) -> int:
        """The close code of a frame that is dropped; 0 for one that passes."""
        if not header.masked:
            return PROTOCOL_ERROR
        if header.control:
            return 0
        self._message += header.payload
        too_big = header.payload > MAX_FRAME or self._message > MAX_MESSAGE
        if header.final:
            self._message = 0
        return TOO_BIG if too_big else self.close_code

    def _refuse(self, code: int) -> None:
        if not self.close_code:
            self.close_code = code
            self._parser.feed_data(_PING)

    def _pass_on(self, data: bytes) -> tuple[bool, bytes]:
        return self._parser.feed_data(data) if data else (False, b"")


def _read_header(data: bytes, at: int) -> _Header | None:
    """Return the frame header that starts at ``at``, or ``None`` if it has not fully arrived."""
    available = len(data) - at
    if available < 2:
        return None
    first, second = data[at], data[at + 1]
    length = second & 0x7F
    extra = 2 if length == 126 else 8 if length == 127 else 0
    size = 2 + extra + (4 if second & 0x80 else 0)
    if available < size:
        return None
    if extra:
        length = int.from_bytes(data[at + 2 : at + 2 + extra], "big")
    return _Header(size, length, bool(first & 0x08), bool(first & 0x80), bool(second & 0x80))
