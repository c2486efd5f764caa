"""The settings of the functions, which the builders read once per cold start.

A field's text is the accepted form that a :class:`~headrace.core.errors.ConfigurationError` quotes. `make reference`
writes the docstring after each field to docs/reference/settings.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.stream import Stream, TableSettings
from headrace.runtime.environment import Settings, invalid, setting
from headrace.runtime.setting_types import (
    AMQP_FORM,
    above_zero,
    amqp_urls,
    comma_list,
    flag,
    host_port,
    number,
    one_of,
    private_urls,
    whole,
)

RATE_FORM = "a whole number from 0 to 100000"


class AwsSettings(Settings):
    """How AWS is called. Lambda sets the region and the credentials."""

    aws_default_region: str = setting(str, "a region's name")
    """Region of the function and of everything that it calls."""
    aws_access_key_id: str = setting(str, "the id of an access key")
    """Id of the access key of the function's role."""
    aws_secret_access_key: str = setting(str, "the secret of an access key")
    """Secret of that key."""
    aws_session_token: str = setting(str, "a session token, or nothing", default="")
    """Token of the role's session."""
    aws_endpoint_url: str = setting(str, "a URL, or nothing", default="")
    """Endpoint of the services without a variable below; empty for AWS."""
    aws_endpoint_url_dynamodb: str = setting(str, "a URL, or nothing", default="")
    """Endpoint of DynamoDB; empty for AWS."""
    aws_endpoint_url_sqs: str = setting(str, "a URL, or nothing", default="")
    """Endpoint of SQS; empty for AWS."""
    aws_endpoint_url_secrets_manager: str = setting(str, "a URL, or nothing", default="")
    """Endpoint of Secrets Manager; empty for AWS."""


class BrokerSettings(Settings):
    """Where the broker is, and how long a publish may take."""

    broker_endpoints: tuple[str, ...] = setting(amqp_urls, AMQP_FORM)
    """Addresses of the broker's nodes."""
    broker_secret_arn: str = setting(str, "the ARN of a secret with username and password")
    """Secret with the broker's user name and password."""
    persist_queues: int = setting(whole(1, 64), "a whole number from 1 to 64", default=4)
    """Persist queues that new events are spread over, or that are read."""
    publish_budget_seconds: float = setting(above_zero(20), "seconds, above 0 and at most 20", default=1.0)
    """Longest time that one request may take to publish and confirm its events."""
    broker_heartbeat_seconds: int = setting(whole(60, 3600), "whole seconds from 60 to 3600", default=180)
    """Heartbeat of the AMQP connections. The broker closes that of a frozen environment after one to two of them."""


class AuthSettings(Settings):
    """How tokens are read."""

    scope_prefix: str = setting(str, "the text before every scope in a token, or nothing", default="")
    """Prefix of every scope in a token, such as ``headrace/``."""


class AuthorizerSettings(AuthSettings):
    """Whose tokens are trusted."""

    jwt_issuer: str = setting(str, "the URL of the issuer, as in the token's iss")
    """Issuer whose tokens the WebSocket API accepts."""
    jwt_audience: tuple[str, ...] = setting(comma_list, "a comma list of audiences, as in the token's aud or client_id")
    """Audiences or client ids that are accepted."""


class RetryLaneSettings(Settings):
    """Where the retry lane is."""

    retry_queue_url: str = setting(str, "the URL of the RetryQueue")
    """Queue of the retry lane."""


class DeadLaneSettings(Settings):
    """Where the dead lane is."""

    dead_letter_queue_url: str = setting(str, "the URL of the DeadLetterQueue")
    """Queue of the dead lane."""


class BreakerSettings(Settings):
    """When the breakers around the broker and around tables open, and when they try again."""

    breaker_failure_percent: int = setting(whole(1, 99), "a whole number from 1 to 99", default=50)
    """A breaker opens when more than this share of the latest calls failed."""
    breaker_window: int = setting(whole(1, 1000), "a whole number from 1 to 1000", default=10)
    """Number of latest calls that a breaker judges by."""
    breaker_probe_seconds: float = setting(above_zero(600), "seconds, above 0 and at most 600", default=10)
    """Time that an open breaker refuses calls before it lets one through."""


class RateSettings(Settings):
    """How many events/s and requests/s one caller may send: a user, or a trusted producer. 0: no limit."""

    event_rate: int = setting(whole(0, 100_000), RATE_FORM, default=0)
    """Events per second that one user may send; 0 for no limit."""
    read_rate: int = setting(whole(0, 100_000), RATE_FORM, default=0)
    """The same for requests that read or subscribe."""
    change_rate: int = setting(whole(0, 100_000), RATE_FORM, default=0)
    """The same for a user's own joins and leaves, and changes of rooms."""
    member_rate: int = setting(whole(0, 100_000), RATE_FORM, default=0)
    """The same for adding and removing other users."""
    room_rate: int = setting(whole(0, 100_000), RATE_FORM, default=0)
    """The same for creating rooms."""
    connection_rate: int = setting(whole(0, 100_000), RATE_FORM, default=0)
    """The same for opening WebSocket connections, in each environment."""
    trusted_event_rate: int = setting(whole(0, 100_000), RATE_FORM, default=0)
    """Each of these limits for a producer with the scope ``events:write``."""
    event_rate_off_percent: int = setting(whole(1, 95), "a whole number from 1 to 95", default=50)
    """A caller over a rate is refused until the rate falls to this share of it."""


class EnvironmentSettings(Settings):
    """The variables by which Lambda describes this environment."""

    aws_lambda_function_name: str = setting(str, "a name", default="")
    """Name of the function. Lambda sets it."""
    aws_lambda_log_stream_name: str = setting(str, "a name", default="")
    """Log stream of the environment, which identifies it. Lambda sets it."""


class PersistSettings(RetryLaneSettings, BreakerSettings):
    """For persist_events; tables are named per stream by :func:`table_settings`."""

    persist_parallel_writes: int = setting(whole(1, 64), "a whole number from 1 to 64", default=8)
    """``BatchWriteItem`` calls that one environment makes at the same time."""
    persist_retry_seconds: float = setting(above_zero(3), "seconds, above 0 and at most 3", default=3.0)
    """Time for which rows that DynamoDB left unprocessed are written again."""
    retry_first_pause_seconds: int = setting(whole(1, 900), "whole seconds from 1 to 900", default=15)
    """Pause before the second try in the retry lane; each later one is four times as long."""


class RoomSettings(Settings):
    """Where rooms and memberships are."""

    rooms_table: str = setting(str, "the name of the Rooms table")
    """Table of rooms."""
    memberships_table: str = setting(str, "the name of the Memberships table")
    """Table of memberships."""


class RoomGateSettings(RoomSettings):
    """How rights to write are decided."""

    rooms_by_first_message: bool = setting(flag, "true or false", default=True)
    """Whether a user's first message creates an open room. Producers with `events:write` always may."""


class TopologySettings(BrokerSettings):
    """For declare_topology."""

    persist_delivery_limit: int = setting(whole(1, 1000), "a whole number from 1 to 1000", default=20)
    """Deliveries of a message after which RabbitMQ moves it to the parking queue."""


class BrokerUsersSettings(BrokerSettings):
    """For declare_topology: the broker's users besides the administrator of ``broker_secret_arn``."""

    broker_console_urls: tuple[str, ...] = setting(
        private_urls, "a comma list of URLs without credentials, each https, or http on this machine", default=()
    )
    """Addresses of the broker's management API; by default https on the host of the first endpoint."""
    broker_publisher_secret_arn: str = setting(str, "the ARN of a secret with username and password")
    """Secret with the name and password of the user that publishes."""
    broker_consumer_secret_arn: str = setting(str, "the ARN of a secret with username and password")
    """Secret with the name and password of the user that event source mappings read with."""


class CacheSettings(Settings):
    """Where the cache is."""

    cache_endpoint: str = setting(host_port, "host:port, or user:password@host:port")
    """Address of the cache; a user and a password are percent-encoded."""
    cache_tls: bool = setting(flag, "true or false", default=True)
    """Whether connections to the cache use TLS."""


class HealthSettings(RetryLaneSettings, CacheSettings):
    """For check_health, which sends each dependency one cheap request."""

    broker_endpoints: tuple[str, ...] = setting(amqp_urls, AMQP_FORM)
    chat_messages_table: str = setting(str, "the name of the ChatMessages table")
    """Table of the stream ``chat``."""


class ConnectionSettings(Settings):
    """For open_connection and close_connection."""

    connections_table: str = setting(str, "the name of the Connections table")
    """Table of WebSocket connections and subscriptions."""


class PushSettings(ConnectionSettings):
    """For push_live."""

    management_url: str = setting(str, "the URL of a WebSocket API's stage, such as https://host/stage")
    """Address of the WebSocket API's stage, for pushing to connections."""
    aws_endpoint_url_apigatewaymanagementapi: str = setting(str, "a URL, or nothing", default="")
    """Replaces ``MANAGEMENT_URL``, as for AWS's own clients."""

    @property
    def connections_url(self) -> str:
        """The URL to push to: as for AWS's own clients, an endpoint from the environment has precedence."""
        return self.aws_endpoint_url_apigatewaymanagementapi or self.management_url


class CursorSettings(Settings):
    """The key material for the cursors of pages."""

    cursor_secret_arn: str = setting(str, "the ARN of a secret whose string is key material")
    """Secret that the cursors of pages are encrypted with."""


class AddressSettings(Settings):
    """For receive_http: the key for hashes of clients' addresses."""

    address_secret_arn: str = setting(str, "the ARN of a secret whose string is key material")
    """Secret that clients' addresses are hashed with."""


class ResortSettings(Settings):
    """Where resorts and their seasons are."""

    resorts_table: str = setting(str, "the name of the Resorts table")
    """Table of resorts and seasons."""


class SettleSettings(Settings):
    """How old an event must be at most until every analytics answer counts it."""

    analytics_settle_seconds: float = setting(number(10, 600), "seconds from 10 to 600", default=10)
    """Age from which every analytics answer counts an event."""


class AnalyticsSettings(SettleSettings):
    """For read_analytics and read_ads; tables are named per stream by :func:`table_settings`."""

    analytics_parallel_reads: int = setting(whole(1, 64), "a whole number from 1 to 64", default=8)
    """Pages that one environment reads at the same time."""


class ObserveSettings(Settings):
    """The service and namespace of logs and metrics."""

    powertools_service_name: str = setting(str, "a name", default="headrace")
    """Service name in logs, and the dimension ``service`` of every metric."""
    powertools_metrics_namespace: str = setting(str, "a CloudWatch namespace", default="Headrace")
    """Namespace of the metrics."""
    powertools_log_level: str = setting(
        one_of("DEBUG", "INFO", "WARN", "ERROR"), "DEBUG, INFO, WARN or ERROR", default="INFO"
    )
    """Lowest level of lines that the functions log. Metrics are written at every level."""


class _TableVariables(Settings):
    """The variables of one stream's table, under names that do not depend on the stream."""

    table: str = setting(str, "the name of a table")
    """Table of the stream ``{stream}``."""
    retention_days: int = setting(whole(0, 36500), "whole days, 0 to keep forever", default=0)
    """Days that events of the stream ``{stream}`` are kept."""
    # Reads may cover more shards than writes fill, while the number of shards is lowered.
    time_write_shards: int = setting(whole(1, 1000), "a whole number from 1 to 1000", default=8)
    """Shards of each time index that writes fill."""
    time_read_shards: int = setting(
        whole(1, 1000), "a whole number from 1 to 1000, not below TIME_WRITE_SHARDS", default=8
    )
    """Shards of each time index that queries read."""


def table_settings(stream: Stream, environ: Mapping[str, str] | None = None) -> TableSettings:
    """The settings of ``stream``'s table, from the variables that it names.

    Raises:
        ConfigurationError: names the variable and its accepted form.
    """
    names = {"table": stream.table_setting, "retention_days": stream.retention_setting}
    found = _TableVariables.read(environ, names)
    if found.time_read_shards < found.time_write_shards:
        # Events in the shards beyond would be missing from every answer.
        raise invalid("TIME_READ_SHARDS", _TableVariables.declared["time_read_shards"])
    return TableSettings(**vars(found))
