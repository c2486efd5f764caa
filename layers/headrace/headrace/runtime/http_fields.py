"""Reads the header fields of HTTP messages on hot paths, where ``http.client`` would make an email message of each."""

from __future__ import annotations

from collections.abc import Mapping

_DIGITS = 12


def http_fields(head: bytes) -> dict[str, str]:
    """The fields after the first line of ``head``, by their names in lower case (RFC 9112, section 5).

    Values have no space around them. Those of one name are joined by commas (RFC 9110, section 5.3).
    """
    fields: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            name, value = name.lower(), value.strip(" \t")
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


def content_length(fields: Mapping[str, str]) -> int | None:
    """The bytes of the body; ``None`` if the head says nothing, or no number."""
    given = fields.get("content-length", "")
    return int(given) if given.isdecimal() and len(given) <= _DIGITS else None


def is_last(fields: Mapping[str, str]) -> bool:
    """Whether the other side closes the connection after this message."""
    return "close" in fields.get("connection", "").lower()
