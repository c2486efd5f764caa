"""Builds and parses the keys of ad clicks, by the rules of ``headrace/core/keys.py``.

The key of a row is only the id and the sender of its click. So a repeated click with another time, ad or user is the
same click: the row that was stored first stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.keys import SEPARATOR, derived_id, parse_timestamp_sk

DERIVED_ID_LENGTH = 20
NO_PART = "-"
"""The id or sender of a position between clicks: a table's key may not be empty."""


def derived_click_id(ad_id: str, user_id: str, ad_type: str, clicked_at: str) -> str:
    """The id of a click without one: the same for the same ad, user, type and time. 100 bits."""
    return derived_id("click", ad_id, user_id, ad_type, clicked_at)[:DERIVED_ID_LENGTH]


def event_id(click_id: str, sender_tag: str) -> str:
    """The whole key of a click as one text, which chooses its queue and its shards."""
    return f"{click_id}#{sender_tag}"


def start_key(position: str) -> Mapping[str, str]:
    """The key attributes of a click at ``position``, a ``timestampSk`` or a place between two of them."""
    _, click_id, sender = [*position.split(SEPARATOR), "", ""][:3]
    return {"timestampSk": position, "clickId": click_id or NO_PART, "sender": sender or NO_PART}


def shown_key(row: Mapping[str, str]) -> dict[str, str]:
    """The key, id and time of a row as clients see them."""
    parts = parse_timestamp_sk(row["timestampSk"])
    return {"key": row["timestampSk"], "clickId": parts.message_id, "clickedAt": parts.timestamp}
