"""Settings are read from environment variables, and invalid values are named."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import pytest

from headrace.core.errors import ConfigurationError
from headrace.queues.brokers import beginning_at, each_broker
from headrace.queues.rabbitmq.users import BrokerUsersSettings
from headrace.runtime.settings import (
    AuthSettings,
    BrokerSettings,
    CacheSettings,
    PersistSettings,
    RetryLaneSettings,
    table_settings,
)
from headrace.services.shared import broker_settings
from tests.worlds.senders import CHAT

WRITE = {
    "BROKER_ENDPOINTS": "amqps://one:5671, amqps://two:5671",
    "BROKER_SECRET_ARN": "arn",
    "RETRY_QUEUE_URL": "https://sqs/queue",
    "PERSIST_QUEUES": "chat=8, ski=1",
}


class WriteSettings(BrokerSettings, RetryLaneSettings, AuthSettings):
    """Several settings in one."""


STREAM = replace(CHAT, table_setting="CHAT_TABLE", retention_setting="CHAT_DAYS")


def test_settings_are_read_from_variables_of_their_name() -> None:
    settings = WriteSettings.read(WRITE)

    assert settings.broker_endpoints == (("amqps://one:5671", "amqps://two:5671"),)
    assert settings.persist_queues == {"chat": 8, "ski": 1}
    assert settings.scope_prefix == ""


def test_an_empty_variable_counts_as_unset() -> None:
    assert WriteSettings.read(WRITE | {"BROKER_HEARTBEAT_SECONDS": ""}).broker_heartbeat_seconds == 180


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("BROKER_ENDPOINTS", "http://one", "BROKER_ENDPOINTS is not of its accepted form; it must be a comma list"),
        ("BROKER_ENDPOINTS", "amqp://user:password@one", "BROKER_ENDPOINTS is not of its accepted form"),
        ("BROKER_ENDPOINTS", "", "BROKER_ENDPOINTS is missing; it must be a comma list of AMQP URLs"),
        ("PERSIST_QUEUES", "4", "PERSIST_QUEUES is not of its accepted form; it must be a comma list of streams"),
        ("PERSIST_QUEUES", "chat=0", "PERSIST_QUEUES is not of its accepted form"),
        ("PERSIST_QUEUES", "chat=65", "PERSIST_QUEUES is not of its accepted form"),
        ("RETRY_QUEUE_URL", "", "RETRY_QUEUE_URL is missing; it must be the URL of the RetryQueue"),
    ],
)
def test_a_bad_value_names_the_variable_and_the_accepted_form(variable: str, value: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        WriteSettings.read(WRITE | {variable: value})

    assert "password" not in caught.value.message


def test_a_streams_table_is_read_from_the_variables_that_the_stream_names() -> None:
    table = table_settings(STREAM, {"CHAT_TABLE": "t", "CHAT_DAYS": "7"})

    assert (table.table, table.retention_days) == ("t", 7)


def test_a_stage_without_time_shards_has_eight() -> None:
    found = table_settings(STREAM, {"CHAT_TABLE": "t"}).time_shards
    more = table_settings(
        STREAM, {"CHAT_TABLE": "t", "TIME_SHARDS_READ": "64", "TIME_SHARDS_WRITTEN": "16"}
    ).time_shards

    assert (found.write, found.read) == (8, 8)
    assert (more.write, more.read) == (16, 64)


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({}, "CHAT_TABLE is missing"),
        ({"CHAT_TABLE": "t", "CHAT_DAYS": "-1"}, "CHAT_DAYS is not of its accepted form"),
        ({"CHAT_TABLE": "t", "TIME_SHARDS_READ": "0"}, "TIME_SHARDS_READ is not of its accepted form"),
        ({"CHAT_TABLE": "t", "TIME_SHARDS_WRITTEN": "16"}, "16 shards are written and 8 read"),
    ],
)
def test_a_streams_bad_variable_is_named(environ: dict[str, str], variable: str) -> None:
    with pytest.raises(ConfigurationError, match=variable):
        table_settings(STREAM, environ)


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "RETRY_QUEUE_URL", "https://sqs/queue")

    assert PersistSettings.read().retry_queue_url == "https://sqs/queue"


@pytest.mark.parametrize(
    "endpoint", ["host", "host:", ":6379", "host:0", "host:70000", "host:port", "host:1/x", ":a@:1"]
)
def test_an_endpoint_is_a_host_and_a_port(endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="CACHE_ENDPOINT"):
        CacheSettings.read({"CACHE_ENDPOINT": endpoint})


USERS = WRITE | {
    "BROKER_ENDPOINTS": "amqps://one:5671, amqps://two:5671; amqps://other:5671",
    "BROKER_CONSOLE_URLS": "https://one,https://other",
    "BROKER_PUBLISHER_SECRET_ARN": "arn",
    "BROKER_CONSUMER_SECRET_ARN": "arn",
}


def test_a_semicolon_separates_brokers_and_each_has_its_own_settings() -> None:
    settings = BrokerUsersSettings.read(USERS)

    first, second = each_broker(settings)
    assert (first.broker_endpoints, second.broker_endpoints) == (
        (("amqps://one:5671", "amqps://two:5671"),),
        (("amqps://other:5671",),),
    )
    assert (first.broker_console_urls, second.broker_console_urls) == (("https://one",), ("https://other",))
    assert beginning_at(settings, 3).broker_endpoints == (*second.broker_endpoints, *first.broker_endpoints)


def test_environments_are_spread_over_the_brokers_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in USERS.items():
        monkeypatch.setenv(name, value)

    def own(number: int) -> str:
        monkeypatch.setenv("AWS_LAMBDA_LOG_STREAM_NAME", f"2026/11/28/[$LATEST]{number:032x}")
        return broker_settings().broker_endpoints[0][0]

    chosen = Counter(own(number) for number in range(200))
    assert own(7) == own(7)
    assert set(chosen) == {"amqps://one:5671", "amqps://other:5671"}
    assert min(chosen.values()) > 60
