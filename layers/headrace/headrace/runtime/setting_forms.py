"""The base of settings, and their forms: types that say what a variable may be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Any, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from headrace.core.errors import ConfigurationError


class Settings(BaseModel):
    """Base of all settings. A field ``broker_endpoints`` is the variable ``BROKER_ENDPOINTS``.

    The ``description`` of a field is the accepted form that errors quote; a number or a flag needs none. A model is
    compiled when it is first read, so that a function pays only for its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None, renamed: Mapping[str, str] | None = None) -> Self:
        """The settings that ``environ`` (``os.environ`` when ``None``) holds; an empty variable counts as unset.

        ``renamed`` has the variables of fields whose variable has another name than the field.

        Raises:
            ConfigurationError: names the first variable that is missing or wrong, and its accepted form.
        """
        source: Mapping[str, str] = os.environ if environ is None else environ
        names = {name: name.upper() for name in cls.model_fields} | dict(renamed or {})
        given = {name: source[variable] for name, variable in names.items() if source.get(variable)}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            name = str(error.errors(include_url=False, include_input=False)[0]["loc"][0])
        state = "is not of its accepted form" if name in given else "is missing"
        form = accepted_form(cls.model_fields[name])
        raise ConfigurationError(f"the variable {names[name]} {state}; it must be {form}")


def _parts(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _brokers(value: object) -> object:
    return tuple(map(_parts, value.split(";"))) if isinstance(value, str) else value


def _counts(value: object) -> object:
    return dict(part.split("=", 1) for part in _parts(value)) if isinstance(value, str) else value  # type: ignore[attr-defined]


def _host_and_port(text: str) -> str:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or not parts.port or parts.netloc != text:
        raise ValueError("not host:port")
    return text


CommaList = BeforeValidator(_parts)
Names = Annotated[tuple[str, ...], CommaList]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], CommaList]
AmqpUrl = Annotated[str, Field(pattern=r"^amqps?://[^@/]+(/.*)?$")]
"""An AMQP URL without credentials."""
PrivateUrl = Annotated[str, Field(pattern=r"^(https://[^@/]+|http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?)(/.*)?$")]
"""A URL without credentials: https, or http on this machine."""
HostAndPort = Annotated[str, AfterValidator(_host_and_port), Field(description="host:port, or user:password@host:port")]
"""With or without credentials."""
Brokers = Annotated[
    tuple[Annotated[tuple[AmqpUrl, ...], Field(min_length=1)], ...],
    BeforeValidator(_brokers),
    Field(
        description="a comma list of AMQP URLs without credentials, such as amqps://host:5671, and a semicolon before"
        " each further broker"
    ),
]
QueueCounts = Annotated[
    Mapping[Annotated[str, Field(pattern="^[a-z]+$")], Annotated[int, Field(ge=1, le=64)]],
    BeforeValidator(_counts),
    Field(min_length=1, description="a comma list of streams and numbers from 1 to 64, such as chat=4,ski=1"),
]
TableName = Annotated[str, Field(description="the name of a table")]
CredentialsArn = Annotated[str, Field(description="the ARN of a secret with username and password")]
KeyArn = Annotated[str, Field(description="the ARN of a secret whose string is key material")]
Name = Annotated[str, Field(description="a name")]
Rate = Annotated[int, Field(ge=0, le=100_000)]
PrivateUrls = Annotated[
    tuple[PrivateUrl, ...],
    CommaList,
    Field(min_length=1, description="a comma list of URLs without credentials, each https, or http on this machine"),
]


def accepted_form(field: FieldInfo) -> str:
    """The values that a variable may have, as errors and the reference say it."""
    if field.description is not None:
        return field.description
    if field.annotation is bool:
        return "true or false"
    if values := get_args(field.annotation):
        return " or ".join([", ".join(values[:-1]), values[-1]])
    bounds: dict[str, Any] = {}
    for each in field.metadata:
        bounds |= {name: getattr(each, name) for name in ("gt", "ge", "le") if hasattr(each, name)}
    least = f"from {bounds['ge']} to" if "ge" in bounds else f"above {bounds['gt']}, up to"
    return f"{'a whole number' if field.annotation is int else 'a number'} {least} {bounds['le']}"
