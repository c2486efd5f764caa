"""Builds and parses the keys of ad clicks; what ``headrace/core/keys.py`` says of keys holds here too.

A click's row is found by its id and its sender alone. So a click that comes again with another time, ad or user is
still that click: the first that is stored stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.keys import SEPARATOR, derived_id, parse_timestamp_sk

DERIVED_ID_LENGTH = 20
NO_PART = "-"
"""Stands for the id or sender in a position that is no click's own: a table's key may not be empty."""


def derived_click_id(ad_id: str, user_id: str, ad_type: str, clicked_at: str) -> str:
    """The id of a click that brings none: the same for the same ad, user, type and time. 100 bits."""
    return derived_id("click", ad_id, user_id, ad_type, clicked_at)[:DERIVED_ID_LENGTH]


def event_id(click_id: str, sender_tag: str) -> str:
    """One text for the whole key of a click: its queue and its shards hang on it."""
    return f"{click_id}#{sender_tag}"


def start_key(position: str) -> Mapping[str, str]:
    """The key attributes of a click at ``position``, a ``timestampSk`` or a place between two of them."""
    _, click_id, sender = [*position.split(SEPARATOR), "", ""][:3]
    return {"timestampSk": position, "clickId": click_id or NO_PART, "sender": sender or NO_PART}


def shown_key(row: Mapping[str, str]) -> dict[str, str]:
    """The time and id that stand in a row's ``timestampSk``, as clients are told them.

    Raises:
        ValueError: not such a row.
    """
    parts = parse_timestamp_sk(row["timestampSk"])
    return {"key": row["timestampSk"], "clickId": parts.message_id, "clickedAt": parts.timestamp}
