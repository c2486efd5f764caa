"""Reads settings from environment variables, as frozen models that the builders read once per cold start.

Only this module reads ``os.environ``. A field ``broker_endpoints`` is the variable ``BROKER_ENDPOINTS``; its
description is the accepted form that a :class:`~headrace.core.errors.ConfigurationError` quotes. `make reference`
writes the docstring after each field to docs/reference/settings.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from headrace.core.errors import ConfigurationError
from headrace.core.stream import Stream, TableSettings
from headrace.runtime.setting_types import AmqpUrls, CommaList, Endpoint, Name, PrivateUrls, Rate


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

    broker_endpoints: AmqpUrls
    """Addresses of the broker's nodes."""
    broker_secret_arn: Name = Field(description="the ARN of a secret with username and password")
    """Secret with the broker's user name and password."""
    persist_queues: int = Field(default=4, ge=1, le=64, description="a whole number from 1 to 64")
    """Persist queues that new events are spread over, or that are read."""
    publish_budget_seconds: float = Field(default=1.0, gt=0, le=20, description="seconds, above 0 and at most 20")
    """Longest time that one request may take to publish and confirm its events."""
    broker_heartbeat_seconds: int = Field(default=180, ge=60, le=3600, description="whole seconds from 60 to 3600")
    """Heartbeat of the AMQP connections. The broker closes that of a frozen environment after one to two of them."""


class AuthSettings(Settings):
    """How tokens are read."""

    scope_prefix: str = Field(default="", description="the text before every scope in a token, or nothing")
    """Prefix of every scope in a token, such as ``headrace/``."""


class AuthorizerSettings(AuthSettings):
    """Whose tokens are trusted."""

    jwt_issuer: Name = Field(description="the URL of the issuer, as in the token's iss")
    """Issuer whose tokens the WebSocket API accepts."""
    jwt_audience: CommaList = Field(min_length=1, description="a comma list of audiences: the token's aud or client_id")
    """Audiences or client ids that are accepted."""


class RetryLaneSettings(Settings):
    """Where the retry lane is."""

    retry_queue_url: Name = Field(description="the URL of the RetryQueue")
    """Queue of the retry lane."""


class DeadLaneSettings(Settings):
    """Where the dead lane is."""

    dead_letter_queue_url: Name = Field(description="the URL of the DeadLetterQueue")
    """Queue of the dead lane."""


class BreakerSettings(Settings):
    """When the breakers around the broker and around tables open, and when they try again."""

    breaker_failure_percent: int = Field(default=50, ge=1, le=99, description="a whole number from 1 to 99")
    """A breaker opens when more than this share of the latest calls failed."""
    breaker_window: int = Field(default=10, ge=1, le=1000, description="a whole number from 1 to 1000")
    """Number of latest calls that a breaker judges by."""
    breaker_probe_seconds: float = Field(default=10, gt=0, le=600, description="seconds, above 0 and at most 600")
    """Time that an open breaker refuses calls before it lets one through."""


class RateSettings(Settings):
    """How many events/s and requests/s one caller may send: a user, or a trusted producer. 0: no limit."""

    event_rate: Rate = 0
    """Events per second that one user may send; 0 for no limit."""
    read_rate: Rate = 0
    """The same for requests that read or subscribe."""
    change_rate: Rate = 0
    """The same for a user's own joins and leaves, and changes of rooms."""
    member_rate: Rate = 0
    """The same for adding and removing other users."""
    room_rate: Rate = 0
    """The same for creating rooms."""
    connection_rate: Rate = 0
    """The same for opening WebSocket connections, in each environment."""
    trusted_event_rate: Rate = 0
    """Each of these limits for a producer with the scope ``events:write``."""
    event_rate_off_percent: int = Field(default=50, ge=1, le=95, description="a whole number from 1 to 95")
    """A caller over a rate is refused until the rate falls to this share of it."""


class EnvironmentSettings(Settings):
    """The variables by which Lambda describes this environment."""

    aws_lambda_function_name: str = Field(default="", description="a name")
    """Name of the function. Lambda sets it."""
    aws_lambda_log_stream_name: str = Field(default="", description="a name")
    """Log stream of the environment, which identifies it. Lambda sets it."""


class PersistSettings(RetryLaneSettings, BreakerSettings):
    """For persist_events; tables are named per stream by :func:`table_settings`."""

    persist_parallel_writes: int = Field(default=8, ge=1, le=64, description="a whole number from 1 to 64")
    """``BatchWriteItem`` calls that one environment makes at the same time."""
    persist_retry_seconds: float = Field(default=3.0, gt=0, le=3, description="seconds, above 0 and at most 3")
    """Time for which rows that DynamoDB left unprocessed are written again."""
    retry_first_pause_seconds: int = Field(default=15, ge=1, le=900, description="whole seconds from 1 to 900")
    """Pause before the second try in the retry lane; each later one is four times as long."""


class RoomSettings(Settings):
    """Where rooms and memberships are."""

    rooms_table: Name = Field(description="the name of the Rooms table")
    """Table of rooms."""
    memberships_table: Name = Field(description="the name of the Memberships table")
    """Table of memberships."""


class RoomGateSettings(RoomSettings):
    """How rights to write are decided."""

    rooms_by_first_message: bool = Field(default=True, description="true or false")
    """Whether a user's first message creates an open room. Producers with `events:write` always may."""


class TopologySettings(BrokerSettings):
    """For declare_topology."""

    persist_delivery_limit: int = Field(default=20, ge=1, le=1000, description="a whole number from 1 to 1000")
    """Deliveries of a message after which RabbitMQ moves it to the parking queue."""


class BrokerUsersSettings(BrokerSettings):
    """For declare_topology: the broker's users besides the administrator of ``broker_secret_arn``."""

    broker_console_urls: PrivateUrls = ()
    """Addresses of the broker's management API; by default https on the host of the first endpoint."""
    broker_publisher_secret_arn: Name = Field(description="the ARN of a secret with username and password")
    """Secret with the name and password of the user that publishes."""
    broker_consumer_secret_arn: Name = Field(description="the ARN of a secret with username and password")
    """Secret with the name and password of the user that event source mappings read with."""


class CacheSettings(Settings):
    """Where the cache is."""

    cache_endpoint: Endpoint = Field(description="host:port, or user:password@host:port", repr=False)
    """Address of the cache; a user and a password are percent-encoded."""
    cache_tls: bool = Field(default=True, description="true or false")
    """Whether connections to the cache use TLS."""


class HealthSettings(RetryLaneSettings, CacheSettings):
    """For check_health, which sends each dependency one cheap request."""

    broker_endpoints: AmqpUrls
    chat_messages_table: Name = Field(description="the name of the ChatMessages table")
    """Table of the stream ``chat``."""


class ConnectionSettings(Settings):
    """For open_connection and close_connection."""

    connections_table: Name = Field(description="the name of the Connections table")
    """Table of WebSocket connections and subscriptions."""


class PushSettings(ConnectionSettings):
    """For push_live."""

    management_url: Name = Field(description="the URL of a WebSocket API's stage, such as https://host/stage")
    """Address of the WebSocket API's stage, for pushing to connections."""
    aws_endpoint_url_apigatewaymanagementapi: str = Field(default="", description="a URL, or nothing")
    """Replaces ``MANAGEMENT_URL``, as for AWS's own clients."""

    @property
    def connections_url(self) -> str:
        """The URL to push to: as for AWS's own clients, an endpoint from the environment has precedence."""
        return self.aws_endpoint_url_apigatewaymanagementapi or self.management_url


class CursorSettings(Settings):
    """The key material for the cursors of pages."""

    cursor_secret_arn: Name = Field(description="the ARN of a secret whose string is key material")
    """Secret that the cursors of pages are encrypted with."""


class AddressSettings(Settings):
    """For receive_http: the key for hashes of clients' addresses."""

    address_secret_arn: Name = Field(description="the ARN of a secret whose string is key material")
    """Secret that clients' addresses are hashed with."""


class ResortSettings(Settings):
    """Where resorts and their seasons are."""

    resorts_table: Name = Field(description="the name of the Resorts table")
    """Table of resorts and seasons."""


class SettleSettings(Settings):
    """How old an event must be at most until every analytics answer counts it."""

    analytics_settle_seconds: float = Field(default=10, ge=10, le=600, description="seconds from 10 to 600")
    """Age from which every analytics answer counts an event."""


class AnalyticsSettings(SettleSettings):
    """For read_analytics and read_ads; tables are named per stream by :func:`table_settings`."""

    analytics_parallel_reads: int = Field(default=8, ge=1, le=64, description="a whole number from 1 to 64")
    """Pages that one environment reads at the same time."""


class ObserveSettings(Settings):
    """The service and namespace of logs and metrics."""

    powertools_service_name: str = Field(default="headrace", description="a name")
    """Service name in logs, and the dimension ``service`` of every metric."""
    powertools_metrics_namespace: str = Field(default="Headrace", description="a CloudWatch namespace")
    """Namespace of the metrics."""
    powertools_log_level: str = Field(
        default="INFO", pattern="^(DEBUG|INFO|WARN|ERROR)$", description="DEBUG, INFO, WARN or ERROR"
    )
    """Lowest level of lines that the functions log. Metrics are written at every level."""


class _TableVariables(Settings):
    """The variables of one stream's table, under names that do not depend on the stream."""

    table: Name = Field(description="the name of a table")
    """Table of the stream ``{stream}``."""
    retention_days: int = Field(default=0, ge=0, le=36500, description="whole days, 0 to keep forever")
    """Days that events of the stream ``{stream}`` are kept."""
    # Reads may cover more shards than writes fill, while the number of shards is lowered.
    time_write_shards: int = Field(default=8, ge=1, le=1000, description="a whole number from 1 to 1000")
    """Shards of each time index that writes fill."""
    time_read_shards: int = Field(
        default=8, ge=1, le=1000, description="a whole number from 1 to 1000, not below TIME_WRITE_SHARDS"
    )
    """Shards of each time index that queries read."""

    @field_validator("time_read_shards")
    @classmethod
    def _reads_all_written(cls, value: int, info: ValidationInfo) -> int:
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
