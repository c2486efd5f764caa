"""Cursors: opaque, signed positions. A cursor is good for one query, in one direction, for one caller.

Form: base64url of a 16-byte MAC and the position's JSON, hidden. The query itself is not in it, only under the MAC
(HMAC-SHA256 cut to 128 bits, RFC 2104 section 5), so a cursor is short and reveals nothing of the key. A page that
stopped early may end at a row that its caller may not see, so the position is hidden too: by a stream that the MAC
seeds, as in a synthetic IV (RFC 5297 has the idea), here from SHAKE-256 with a separate key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.core.errors import FieldError, InvalidCursor, echo
from headrace.core.json import encode

CURSOR_LIMIT = 2048
"""Characters of a cursor: one with two ids of 128 characters, four bytes each, has about 1450."""
_MAC_BYTES = 16


@dataclass(frozen=True, slots=True)
class Query:
    """What a cursor belongs to: a kind of page, what it pages over, its bounds, and the caller."""

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
        self._hiding_key = hmac.digest(key, b"headrace: what cursors are hidden with", "sha256")

    def sign(self, query: Query, direction: str, position: Sequence[str]) -> str:
        """The cursor that continues ``query`` in ``direction`` after ``position``."""
        body = encode(position).encode()
        mac = self._mac(query, direction, body)
        return base64.urlsafe_b64encode(mac + self._hidden(mac, body)).rstrip(b"=").decode()

    def verify(
        self, cursor: str, query: Query, field: str, *, parts: int, directions: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """The position in ``cursor``, which has ``parts`` texts and came in ``field``.

        It was made for one of ``directions``; by default for the one that ``field`` names.

        Raises:
            InvalidCursor: forged, or made for another query, caller or direction.
        """
        bodies = (self._body(cursor, query, direction) for direction in directions or (field,))
        body = next((found for found in bodies if found is not None), None)
        if body is None:
            what = "is not a cursor of this query, direction and caller"
            raise InvalidCursor(
                "the cursor does not belong to this query",
                details=[FieldError(field, what, echo(cursor), "a cursor from a page of this query")],
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
        mac = raw[:_MAC_BYTES]
        body = self._hidden(mac, raw[_MAC_BYTES:])
        return body if hmac.compare_digest(mac, self._mac(query, direction, body)) else None

    def _hidden(self, mac: bytes, body: bytes) -> bytes:
        """``body`` hidden, or what was hidden shown."""
        stream = hashlib.shake_256(self._hiding_key + mac).digest(len(body))
        return (int.from_bytes(body, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(body), "big")

    def _mac(self, query: Query, direction: str, body: bytes) -> bytes:
        # A JSON array keeps its parts apart, whatever they hold.
        text = body.decode("latin-1")
        bound = [2, query.kind, query.subject, query.caller, query.lower, query.upper, direction, text]
        return hmac.digest(self._key, json.dumps(bound).encode(), "sha256")[:_MAC_BYTES]
