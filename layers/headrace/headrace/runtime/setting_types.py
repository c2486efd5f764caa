"""The types of settings: how the text of an environment variable becomes a value. All raise ``ValueError``."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from headrace.core.urls import is_https_or_loopback

AMQP_FORM = "a comma list of AMQP URLs without credentials, such as amqps://host:5671"
FLAGS = {"true": True, "1": True, "false": False, "0": False}


def whole(least: int, most: int) -> Callable[[str], int]:
    """Whole numbers from ``least`` to ``most``."""

    def parse(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError("out of range")
        return value

    return parse


def number(least: float, most: float) -> Callable[[str], float]:
    """Numbers from ``least`` to ``most``."""

    def parse(text: str) -> float:
        value = float(text)
        if not least <= value <= most:
            raise ValueError("out of range")
        return value

    return parse


def above_zero(most: float) -> Callable[[str], float]:
    """Numbers above 0, up to ``most``."""
    return number(5e-324, most)


def flag(text: str) -> bool:
    """``true`` or ``false``."""
    try:
        return FLAGS[text.lower()]
    except KeyError:
        raise ValueError("neither true nor false") from None


def one_of(*values: str) -> Callable[[str], str]:
    """One of ``values``."""

    def parse(text: str) -> str:
        if text not in values:
            raise ValueError("not one of them")
        return text

    return parse


def comma_list(text: str) -> tuple[str, ...]:
    """At least one text, separated by commas."""
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if not parts:
        raise ValueError("empty")
    return parts


def amqp_urls(text: str) -> tuple[str, ...]:
    """AMQP URLs without credentials, separated by commas."""
    urls = comma_list(text)
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("amqp", "amqps") or not parts.hostname or parts.username is not None:
            raise ValueError("not an AMQP URL without credentials")
    return urls


def private_urls(text: str) -> tuple[str, ...]:
    """URLs without credentials, separated by commas: each https, or http on this machine."""
    urls = comma_list(text)
    for url in urls:
        if not is_https_or_loopback(url) or urlsplit(url).username is not None:
            raise ValueError("not a private URL without credentials")
    return urls


def host_port(text: str) -> str:
    """``host:port``, with or without ``user:password@``."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or not parts.port or parts.netloc != text:
        raise ValueError("not host:port")
    return text
