"""The settings of the functions, which the builders read once per cold start; no other module reads variables.

`make reference` writes the docstring after each field to docs/reference/settings.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from headrace.runtime.setting_forms import (
    Brokers,
    CredentialsArn,
    HostAndPort,
    Name,
    Names,
    QueueCounts,
    Rate,
    Settings,
    TableName,
)

if TYPE_CHECKING:
    from headrace.core.stream import Stream, TableSettings


class BrokerSettings(Settings):
    """Where the brokers are: one, or several that do not know one another."""

    broker_endpoints: Brokers
    """Addresses of the nodes of each broker."""
    broker_secret_arn: CredentialsArn
    """Secret with the broker's user name and password."""
    persist_queues: QueueCounts
    """Number of persist queues of each stream."""
    broker_heartbeat_seconds: int = Field(default=180, ge=60, le=3600)
    """Heartbeat of the AMQP connections. The broker closes a frozen environment's connection after one or two beats."""


class FeatureSettings(Settings):
    """What the stage can do."""

    stage_features: Names = Field(default=("all",), description="all, none, or a comma list of features, such as edits")
    """Features of the stage; what others have stored stays, and comes back with them."""


class AuthSettings(Settings):
    """How tokens are read."""

    scope_prefix: str = Field(default="", description="the text before every scope in a token, or nothing")
    """Prefix of every scope in a token, such as ``headrace/``."""


class RetryLaneSettings(Settings):
    """Where the retry lane is."""

    retry_queue_url: str = Field(description="the URL of the RetryQueue")
    """Queue of the retry lane."""


class DeadLaneSettings(Settings):
    """Where the dead lane is."""

    dead_letter_queue_url: str = Field(description="the URL of the DeadLetterQueue")
    """Queue of the dead lane."""


class RateSettings(Settings):
    """When events and requests are refused: those of one user or trusted producer, or all of a stream that waits."""

    event_rate: Rate = 0
    """Events per second that one user may send; 0 for no limit."""
    request_rate: Rate = 0
    """Other requests and frames per second that one user may send; 0 for no limit. Rarer kinds have a share of it."""
    trusted_event_rate: Rate = 0
    """Each of these limits for a producer with the scope ``events:write``."""
    backlog_seconds: int = Field(default=0, ge=0, le=3600)
    """How long a new event may wait for its storing before producers get 429; users get it at twice. 0: no limit."""


class EnvironmentSettings(Settings):
    """The variables by which Lambda describes this environment."""

    aws_lambda_function_name: Name = ""
    """Name of the function. Lambda sets it."""
    aws_lambda_log_stream_name: Name = ""
    """Log stream of the environment, which identifies it. Lambda sets it."""


class ScreenSettings(Settings):
    """Which events are looked up among erasures."""

    erasure_age_seconds: int = Field(default=60, ge=2, le=300)
    """From so long after its acceptance, an event is looked up before it is stored."""


class PersistSettings(RetryLaneSettings, ScreenSettings):
    """For persist_events; tables are named per stream by :func:`table_settings`."""

    persist_parallel_writes: int = Field(default=8, ge=1, le=64)
    """Calls that store rows, 25 in each, which one environment makes at the same time."""
    retry_first_pause_seconds: int = Field(default=15, ge=1, le=900)
    """Pause before the second try in the retry lane; each later one is four times as long."""


class RoomSettings(Settings):
    """Where rooms and memberships are."""

    rooms_table: TableName
    """Table of rooms."""
    memberships_table: TableName
    """Table of memberships."""
    chat_retention_days: int = Field(default=0, ge=0, le=36500)
    """Days that the stage keeps messages, and the most that a room may. 0: no limit."""
    rooms_by_first_message: bool = True
    """Whether a user's first message creates an open room. Producers with `events:write` always may."""


class CacheSettings(Settings):
    """Where the cache is."""

    cache_endpoint: HostAndPort
    """Address of the cache, called with TLS except on this machine; a user and a password are percent-encoded."""


class ConnectionSettings(Settings):
    """For track_connections, and for every function that follows connections."""

    connections_table: TableName
    """Table of WebSocket connections and subscriptions."""


class ObserveSettings(Settings):
    """The service of logs and metrics, and the level of logs."""

    powertools_service_name: Name = "headrace"
    """Service name in logs, and the dimension ``service`` of every metric."""
    powertools_log_level: Literal["DEBUG", "INFO", "WARN", "ERROR"] = "INFO"
    """Lowest level of lines that the functions log. Metrics are written at every level."""


class _TableVariables(Settings):
    """The variables of one stream's table, under names that do not depend on the stream."""

    table: TableName
    """Table of the stream ``{stream}``."""
    retention_days: int = Field(default=0, ge=0, le=36500)
    """Days that events of the stream ``{stream}`` are kept."""
    time_shards_written: int = Field(default=8, ge=1, le=64)
    """Partitions that an index by time spreads new rows over, each for 1,000 writes/s."""
    time_shards_read: int = Field(default=8, ge=1, le=64)
    """Partitions of such an index that are read: at least as many as rows were ever written to."""


def table_settings(stream: Stream, environ: Mapping[str, str] | None = None) -> TableSettings:
    """The settings of ``stream``'s table, from the variables that it names and those of time shards.

    Raises:
        ConfigurationError: names the variable and its accepted form.
    """
    # Imported here: it takes 3 ms of CPU, and half of the functions have no stream.
    from headrace.core.stream import Shards, TableSettings

    found = _TableVariables.read(environ, {"table": stream.table_setting, "retention_days": stream.retention_setting})
    days = found.retention_days if stream.keep_days is None else stream.keep_days
    shards = Shards(write=found.time_shards_written, read=found.time_shards_read)
    return TableSettings(table=found.table, retention_days=days, time_shards=shards)
