"""The types of settings that environment variables hold as text."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _amqp_urls(value: object) -> object:
    urls = _split(value)
    for url in urls if isinstance(urls, tuple) else ():
        parts = urlsplit(url)
        if parts.scheme not in ("amqp", "amqps") or not parts.hostname or parts.username is not None:
            raise ValueError("not an AMQP URL without credentials")
    return urls


def _endpoint(value: object) -> object:
    parts = urlsplit(f"//{value}")
    if not parts.hostname or not parts.port or parts.netloc != value:
        raise ValueError("not host:port")
    return value


Name = Annotated[str, Field(min_length=1)]
CommaList = Annotated[tuple[str, ...], BeforeValidator(_split)]
AmqpUrls = Annotated[tuple[str, ...], BeforeValidator(_amqp_urls)]
Endpoint = Annotated[str, BeforeValidator(_endpoint)]
AMQP_FORM = "a comma list of AMQP URLs without credentials, such as amqps://host:5671"
