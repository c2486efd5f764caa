"""Makes and verifies cursors: encrypted positions, each valid for one query, direction and caller.

A cursor is base64url of AES-SIV (RFC 5297) over JSON: the direction, the bounds of the query, the position. The caller
and what the query pages over are associated data. A cursor does not contain them, and another caller cannot decrypt it.
Positions are encrypted because a page that stops early may end at a row that its caller may not read. AES-SIV needs no
nonce: the same position always gives the same cursor.

After a rotation, environments with the old key run beside those with the new one. So the keys are read again when a
cursor does not decrypt, and the previous key is accepted too.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from headrace.core.errors import FieldError, InvalidCursor, echo
from headrace.core.json import encode

CURSOR_LIMIT = 2048
"""Characters of a cursor: one with two ids of 128 characters, four bytes each, has about 1450."""

_FORM = 2
"""The version of the encrypted content. A cursor of another version does not decrypt."""
_KEY_BYTES = 64
"""AES-256-SIV: one key of 256 bits for S2V, one for CTR (RFC 5297, section 2.2)."""
REREAD_SECONDS = 10.0
"""Keys are read again at most once in this time: anyone can send a cursor that does not decrypt."""


@dataclass(frozen=True, slots=True)
class Query:
    """The query that a cursor belongs to: a kind of page, what it pages over, its bounds, and the caller."""

    kind: str
    subject: str
    caller: str
    lower: str | None = None
    upper: str | None = None


class CursorSigner:
    """Makes and checks cursors with a secret key. ``read_keys`` returns the key as it is now, and those before it.

    Raises:
        ValueError: the key is shorter than 16 bytes.
    """

    def __init__(
        self,
        key: bytes,
        read_keys: Callable[[], Sequence[bytes]] = tuple,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ciphers = [_cipher(key)]
        self._read_keys = read_keys
        self._monotonic = monotonic
        self._read_at = float("-inf")

    def sign(self, query: Query, direction: str, position: Sequence[str]) -> str:
        """The cursor that continues ``query`` in ``direction`` after ``position``."""
        content = [direction, query.lower, query.upper, *position]
        encrypted = self._ciphers[0].encrypt(encode(content).encode(), [_bound_to(query)])
        return base64.urlsafe_b64encode(encrypted).rstrip(b"=").decode()

    def verify(
        self, cursor: str, query: Query, field: str, *, parts: int, directions: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """The position in ``cursor``, which the client sent in ``field``: ``parts`` texts.

        The cursor must be for one of ``directions``, by default for the direction that is named as ``field``.

        Raises:
            InvalidCursor: forged, or made for another query, caller or direction.
            headrace.core.errors.HeadraceError: ``read_keys`` raised it.
        """
        made_for, lower, upper, *position = self._content(cursor, query, field)
        is_bound = (lower, upper, len(position)) == (query.lower, query.upper, parts)
        if made_for not in (directions or (field,)) or not is_bound:
            raise _refusal(cursor, field)
        return tuple(position)

    def opened(self, cursor: str, query: Query) -> tuple[str, str | None, str | None]:
        """The direction and the bounds in ``cursor``; those of ``query`` may differ.

        Raises:
            InvalidCursor: forged, or made for another list or caller.
            headrace.core.errors.HeadraceError: ``read_keys`` raised it.
        """
        direction, lower, upper, *_ = self._content(cursor, query, "cursor")
        return direction, lower, upper

    def _content(self, cursor: str, query: Query, field: str) -> list[Any]:
        text = self._decrypted(cursor, query)
        if text is None and self._monotonic() - self._read_at >= REREAD_SECONDS:
            self._read_at = self._monotonic()
            self._ciphers = [_cipher(key) for key in self._read_keys()] or self._ciphers
            text = self._decrypted(cursor, query)
        if text is None:
            raise _refusal(cursor, field)
        content: list[Any] = json.loads(text)
        return content

    def _decrypted(self, cursor: str, query: Query) -> bytes | None:
        if len(cursor) > CURSOR_LIMIT:
            return None
        for cipher in self._ciphers:
            with contextlib.suppress(ValueError, InvalidTag):  # ValueError: not base64, or too short
                raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
                return cipher.decrypt(raw, [_bound_to(query)])
        return None


def _cipher(key: bytes) -> AESSIV:
    if len(key) < 16:
        raise ValueError("the cursor key must have at least 16 bytes")
    # AES-256-SIV with a key derived by HKDF (RFC 5869).
    return AESSIV(HKDF(SHA256(), _KEY_BYTES, salt=None, info=b"headrace cursors").derive(key))


def _refusal(cursor: str, field: str) -> InvalidCursor:
    detail = FieldError(
        field, "is not a cursor of this query, direction and caller", echo(cursor), "a cursor from a page of this query"
    )
    return InvalidCursor("the cursor does not belong to this query", details=[detail])


def _bound_to(query: Query) -> bytes:
    # A JSON array keeps its parts apart, whatever they hold.
    return json.dumps([_FORM, query.kind, query.subject, query.caller]).encode()
