"""Which URLs the platform may call when their text comes from elsewhere."""

from __future__ import annotations

from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_https_or_loopback(url: str) -> bool:
    """Whether ``url`` is https, or http on this machine."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    except ValueError:
        return False
