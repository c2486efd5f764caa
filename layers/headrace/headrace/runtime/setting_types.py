"""The types of settings that environment variables hold as text."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

from headrace.core.urls import is_https_or_loopback


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _amqp_urls(value: object) -> object:
    urls = _split(value)
    for url in urls if isinstance(urls, tuple) else ():
        parts = urlsplit(url)
        if parts.scheme not in ("amqp", "amqps") or not parts.hostname or parts.username is not None:
            raise ValueError("not an AMQP URL without credentials")
    return urls


def _private_urls(value: object) -> object:
    urls = _split(value)
    for url in urls if isinstance(urls, tuple) else ():
        if not is_https_or_loopback(url) or urlsplit(url).username is not None:
            raise ValueError("not a private URL without credentials")
    return urls


def _endpoint(value: object) -> object:
    parts = urlsplit(f"//{value}")
    if not parts.hostname or not parts.port or parts.netloc != value:
        raise ValueError("not host:port")
    return value


Name = Annotated[str, Field(min_length=1)]
Rate = Annotated[int, Field(ge=0, le=100_000, description="a whole number from 0 to 100000")]
CommaList = Annotated[tuple[str, ...], BeforeValidator(_split)]
AmqpUrls = Annotated[
    tuple[str, ...],
    BeforeValidator(_amqp_urls),
    Field(min_length=1, description="a comma list of AMQP URLs without credentials, such as amqps://host:5671"),
]
PrivateUrls = Annotated[
    tuple[str, ...],
    BeforeValidator(_private_urls),
    Field(description="a comma list of URLs without credentials, each https, or http on this machine"),
]
Endpoint = Annotated[str, BeforeValidator(_endpoint)]
