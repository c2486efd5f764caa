"""Settings: one frozen model per handler, read from the environment once per cold start.

The only module that reads ``os.environ``. A field ``broker_endpoints`` is the variable ``BROKER_ENDPOINTS``; its
description is the accepted form that a :class:`~headrace.core.errors.ConfigurationError` quotes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from headrace.core.errors import ConfigurationError
from headrace.core.stream import Stream, TableSettings


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
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("not host:port")
    return value


Name = Annotated[str, Field(min_length=1)]
AmqpUrls = Annotated[tuple[str, ...], BeforeValidator(_amqp_urls)]
AMQP_FORM = "a comma list of AMQP URLs without credentials, such as amqps://host:5671"


class Settings(BaseModel):
    """Base of all settings."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=str.upper, populate_by_name=True)

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Self:
        """The settings that ``environ`` (``os.environ`` when ``None``) holds; an empty variable counts as unset.

        Raises:
            ConfigurationError: names the first variable that is missing or wrong, and its accepted form.
        """
        values = {name: value for name, value in (os.environ if environ is None else environ).items() if value}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            variable = str(first["loc"][0])
            field = next(field for field in cls.model_fields.values() if field.alias == variable)
            state = "is missing" if first["type"] == "missing" else "is not of its accepted form"
            raise ConfigurationError(f"the variable {variable} {state}; it must be {field.description}") from None


class BrokerSettings(Settings):
    """Where the broker is, and how long a publish may take."""

    broker_endpoints: AmqpUrls = Field(min_length=1, description=AMQP_FORM)
    broker_secret_arn: Name = Field(description="the ARN of a secret with username and password")
    persist_queues: int = Field(default=4, ge=1, le=64, description="a whole number from 1 to 64")
    publish_budget_seconds: float = Field(default=1.0, gt=0, le=20, description="seconds, above 0 and at most 20")
    broker_heartbeat_seconds: int = Field(default=600, ge=60, le=3600, description="whole seconds from 60 to 3600")


class AuthSettings(Settings):
    """How tokens are read."""

    scope_prefix: str = Field(default="", description="what stands before every scope in a token, or nothing")


class AuthorizerSettings(AuthSettings):
    """Whose tokens are trusted."""

    jwt_issuer: Name = Field(description="the URL of the issuer, as in the token's iss")
    jwt_audience: Annotated[tuple[str, ...], BeforeValidator(_split)] = Field(
        min_length=1, description="a comma list of audiences, as in the token's aud or client_id"
    )


class RetryLaneSettings(Settings):
    """Where the retry lane is."""

    retry_queue_url: Name = Field(description="the URL of the RetryQueue")


class DeadLaneSettings(Settings):
    """Where the dead lane is."""

    dead_letter_queue_url: Name = Field(description="the URL of the DeadLetterQueue")


class BreakerSettings(Settings):
    """When the breakers around the broker and around tables open, and when they try again."""

    breaker_failure_percent: int = Field(default=50, ge=1, le=99, description="a whole number from 1 to 99")
    breaker_window: int = Field(default=10, ge=1, le=1000, description="a whole number from 1 to 1000")
    breaker_probe_seconds: float = Field(default=10, gt=0, le=600, description="seconds, above 0 and at most 600")


class RateSettings(Settings):
    """How many events/s one sender may send: a user, or a trusted producer. 0: any number."""

    event_rate: int = Field(default=0, ge=0, le=100_000, description="a whole number from 0 to 100000")
    trusted_event_rate: int = Field(default=0, ge=0, le=100_000, description="a whole number from 0 to 100000")
    event_rate_off_percent: int = Field(default=50, ge=1, le=95, description="a whole number from 1 to 95")


class EnvironmentSettings(Settings):
    """What Lambda says about this environment."""

    aws_lambda_function_name: str = Field(default="", description="a name")
    aws_lambda_log_stream_name: str = Field(default="", description="a name")


class PersistSettings(RetryLaneSettings, BreakerSettings):
    """For persist_events; tables are named per stream by :func:`table_settings`."""

    persist_parallel_writes: int = Field(default=8, ge=1, le=64, description="a whole number from 1 to 64")
    persist_retry_seconds: float = Field(default=3.0, gt=0, le=3, description="seconds, above 0 and at most 3")
    retry_first_pause_seconds: int = Field(default=15, ge=1, le=900, description="whole seconds from 1 to 900")


class RoomSettings(Settings):
    """Where rooms and memberships are."""

    rooms_table: Name = Field(description="the name of the Rooms table")
    memberships_table: Name = Field(description="the name of the Memberships table")


class TopologySettings(BrokerSettings):
    """For declare_topology."""

    persist_delivery_limit: int = Field(default=20, ge=1, le=1000, description="a whole number from 1 to 1000")


class CacheSettings(Settings):
    """Where the cache is."""

    cache_endpoint: Annotated[str, BeforeValidator(_endpoint)] = Field(description="host:port")
    cache_tls: bool = Field(default=True, description="true or false")


class HealthSettings(RetryLaneSettings, CacheSettings):
    """For check_health, which sends each part one cheap request."""

    broker_endpoints: AmqpUrls = Field(min_length=1, description=AMQP_FORM)
    chat_messages_table: Name = Field(description="the name of the ChatMessages table")


class ConnectionSettings(Settings):
    """For open_connection and close_connection."""

    connections_table: Name = Field(description="the name of the Connections table")


class PushSettings(ConnectionSettings):
    """For push_live."""

    management_url: Name = Field(description="the URL of a WebSocket API's stage, such as https://host/stage")
    aws_endpoint_url_apigatewaymanagementapi: str = Field(default="", description="a URL, or nothing")

    @property
    def connections_url(self) -> str:
        """Where connections are pushed to: as for AWS's own clients, an endpoint of a stage goes first."""
        return self.aws_endpoint_url_apigatewaymanagementapi or self.management_url


class CursorSettings(Settings):
    """What the cursors of pages are encrypted with."""

    cursor_secret_arn: Name = Field(description="the ARN of a secret whose string is key material")


class AddressSettings(Settings):
    """For receive_http: what clients' addresses are hashed with."""

    address_secret_arn: Name = Field(description="the ARN of a secret whose string is key material")


class ResortSettings(Settings):
    """Where resorts and their seasons are."""

    resorts_table: Name = Field(description="the name of the Resorts table")


class SettleSettings(Settings):
    """How old an event must be at most until every analytics answer counts it."""

    analytics_settle_seconds: float = Field(default=10, ge=10, le=600, description="seconds from 10 to 600")


class AnalyticsSettings(SettleSettings):
    """For read_analytics and read_ads; tables are named per stream by :func:`table_settings`."""

    analytics_parallel_reads: int = Field(default=8, ge=1, le=64, description="a whole number from 1 to 64")


class ObserveSettings(Settings):
    """What logs and metrics are filed under."""

    powertools_service_name: str = Field(default="headrace", description="a name")
    powertools_metrics_namespace: str = Field(default="Headrace", description="a CloudWatch namespace")


class _TableVariables(Settings):
    """The variables of one stream's table, under names that do not depend on the stream."""

    table: Name = Field(description="the name of a table")
    retention_days: int = Field(default=0, ge=0, le=36500, description="whole days, 0 to keep for ever")
    # Reading may cover more shards than writing fills.
    time_write_shards: int = Field(default=8, ge=1, le=1000, description="a whole number from 1 to 1000")
    time_read_shards: int = Field(
        default=8, ge=1, le=1000, description="a whole number from 1 to 1000, not below TIME_WRITE_SHARDS"
    )

    @field_validator("time_read_shards")
    @classmethod
    def _covers_what_is_written(cls, value: int, info: ValidationInfo) -> int:
        if value < info.data.get("time_write_shards", 0):
            raise ValueError("events in the shards beyond would be missing from every answer")
        return value


def table_settings(stream: Stream, environ: Mapping[str, str] | None = None) -> TableSettings:
    """The settings of ``stream``'s table, from the variables that it names.

    Raises:
        ConfigurationError: names the variable and its accepted form.
    """
    source = dict(os.environ if environ is None else environ)
    names = {"TABLE": stream.table_setting, "RETENTION_DAYS": stream.retention_setting}
    try:
        found = _TableVariables.read(source | {alias: source.get(name, "") for alias, name in names.items()})
    except ConfigurationError as error:
        message = error.message
        for alias, name in names.items():
            message = message.replace(f"variable {alias} ", f"variable {name} ")
        raise ConfigurationError(message) from None
    return TableSettings(**found.model_dump())
