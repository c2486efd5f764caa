"""Cursors: opaque, signed positions. A cursor is good for one query, in one direction, for one caller.

Form: base64url of a 16-byte MAC and the position's JSON. The query itself is not in it, only under the MAC
(HMAC-SHA256 cut to 128 bits, RFC 2104 section 5), so a cursor stays short and tells nothing of the key.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.errors import FieldError, InvalidCursor, shown

CURSOR_LIMIT = 2048
"""Characters of a cursor: one with two ids of 128 characters, four bytes each, has about 1450."""

_MAC_BYTES = 16


@dataclass(frozen=True, slots=True)
class Query:
    """What a cursor belongs to: a kind of page, what it pages over, its bounds, and who asks."""

    kind: str
    subject: str
    caller: str
    lower: str | None = None
    upper: str | None = None


class CursorSigner:
    """Makes and checks cursors with a secret key.

    Raises:
        ValueError: the key is shorter than 16 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < 16:
            raise ValueError("the cursor key must have at least 16 bytes")
        self._key = key

    def sign(self, query: Query, direction: str, position: Sequence[str]) -> str:
        """The cursor that continues ``query`` in ``direction`` after ``position``."""
        body = json.dumps(position, ensure_ascii=False, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._mac(query, direction, body) + body).rstrip(b"=").decode()

    def verify(self, cursor: str, query: Query, direction: str, *, parts: int) -> tuple[str, ...]:
        """The position in ``cursor``, which has ``parts`` texts.

        Raises:
            InvalidCursor: forged, or made for another query, caller or direction.
        """
        body = self._body(cursor, query, direction)
        if body is None:
            raise InvalidCursor(
                "the cursor does not belong to this query",
                details=[FieldError(direction, "is not a cursor of this query, direction and caller", shown(cursor))],
            )
        position = json.loads(body)
        if len(position) != parts:
            raise InvalidCursor("the cursor is of an older form; start again from the first page")
        return tuple(position)

    def _body(self, cursor: str, query: Query, direction: str) -> bytes | None:
        if len(cursor) > CURSOR_LIMIT:
            return None
        try:
            raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        return body if hmac.compare_digest(mac, self._mac(query, direction, body)) else None

    def _mac(self, query: Query, direction: str, body: bytes) -> bytes:
        # A JSON array keeps its parts apart, whatever they hold.
        bound = [
            1,
            query.kind,
            query.subject,
            query.caller,
            query.lower,
            query.upper,
            direction,
            body.decode("latin-1"),
        ]
        return hmac.digest(self._key, json.dumps(bound).encode(), "sha256")[:_MAC_BYTES]
