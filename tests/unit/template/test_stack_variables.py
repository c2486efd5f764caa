"""The environment variables of each function."""

import pytest

from tests.unit.template_stack import ROOT, TemplateStack

# What a breaker needs: when it opens, and the cache where it says so.
BREAKERS = {"BREAKER_FAILURE_PERCENT", "BREAKER_WINDOW", "BREAKER_PROBE_SECONDS", "CACHE_ENDPOINT", "CACHE_TLS"}
# How much one sender may send.
RATES = {"EVENT_RATE", "EVENT_RATE_OFF_PERCENT", "TRUSTED_EVENT_RATE"}
# What rights are decided by.
RIGHTS = {"MEMBERSHIPS_TABLE", "ROOMS_TABLE"}
# Each function knows this and nothing else.
VARIABLES = {
    "AuthorizeConnection": {"JWT_ISSUER", "JWT_AUDIENCE", "SCOPE_PREFIX"},
    "OpenConnection": {"CONNECTIONS_TABLE"},
    "CloseConnection": {"CONNECTIONS_TABLE"},
    "ReceiveFrame": {"BROKER_ENDPOINTS", "BROKER_SECRET_ARN", "PERSIST_QUEUES", "RETRY_QUEUE_URL", "SCOPE_PREFIX"}
    | BREAKERS
    | RATES
    | RIGHTS,
    "ReceiveHttp": {"BROKER_ENDPOINTS", "BROKER_SECRET_ARN", "PERSIST_QUEUES", "RETRY_QUEUE_URL", "SCOPE_PREFIX"}
    | BREAKERS
    | RATES
    | RIGHTS
    | {"ADDRESS_SECRET_ARN", "RESORTS_TABLE"},
    "ManageRooms": {
        "CONNECTIONS_TABLE",
        "BROKER_ENDPOINTS",
        "BROKER_SECRET_ARN",
        "CURSOR_SECRET_ARN",
        "PERSIST_QUEUES",
        "RETRY_QUEUE_URL",
        "SCOPE_PREFIX",
    }
    | BREAKERS
    | RIGHTS,
    "PersistEvents": {
        "AD_CLICKS_TABLE",
        "ADS_RETENTION_DAYS",
        "ANALYTICS_SETTLE_SECONDS",
        "BROKER_ENDPOINTS",
        "BROKER_SECRET_ARN",
        "CONNECTIONS_TABLE",
        "CHAT_MESSAGES_TABLE",
        "CHAT_RETENTION_DAYS",
        "LIFT_RIDES_TABLE",
        "RESORTS_TABLE",
        "SKI_RETENTION_DAYS",
        "RETRY_FIRST_PAUSE_SECONDS",
        "RETRY_VISIBILITY_SECONDS",
        "RETRY_QUEUE_URL",
        "TIME_READ_SHARDS",
        "TIME_WRITE_SHARDS",
    }
    | BREAKERS
    | RIGHTS,
    "ReadFrame": {
        "CACHE_ENDPOINT",
        "CACHE_TLS",
        "CHAT_MESSAGES_TABLE",
        "CONNECTIONS_TABLE",
        "CURSOR_SECRET_ARN",
        "SCOPE_PREFIX",
    }
    | RIGHTS,
    "PushLive": {"CONNECTIONS_TABLE", "MANAGEMENT_URL"},
    "ReadRoom": {"CACHE_ENDPOINT", "CACHE_TLS", "CHAT_MESSAGES_TABLE", "CURSOR_SECRET_ARN", "SCOPE_PREFIX"} | RIGHTS,
    "ReadUser": {"CACHE_ENDPOINT", "CACHE_TLS", "CHAT_MESSAGES_TABLE", "CURSOR_SECRET_ARN", "SCOPE_PREFIX"} | RIGHTS,
    "ReadAnalytics": {
        "ANALYTICS_PARALLEL_READS",
        "ANALYTICS_SETTLE_SECONDS",
        "CACHE_ENDPOINT",
        "CACHE_TLS",
        "CHAT_MESSAGES_TABLE",
        "SCOPE_PREFIX",
        "TIME_READ_SHARDS",
        "TIME_WRITE_SHARDS",
    },
    "ReadConversations": {"CACHE_ENDPOINT", "CACHE_TLS", "CHAT_MESSAGES_TABLE", "CURSOR_SECRET_ARN", "SCOPE_PREFIX"}
    | RIGHTS,
    "ReadSki": {"CACHE_ENDPOINT", "CACHE_TLS", "LIFT_RIDES_TABLE", "RESORTS_TABLE", "SCOPE_PREFIX"},
    "ReadAds": {
        "AD_CLICKS_TABLE",
        "ANALYTICS_PARALLEL_READS",
        "ANALYTICS_SETTLE_SECONDS",
        "CACHE_ENDPOINT",
        "CACHE_TLS",
        "CURSOR_SECRET_ARN",
        "SCOPE_PREFIX",
    },
    "DeclareTopology": {"BROKER_ENDPOINTS", "BROKER_SECRET_ARN", "PERSIST_QUEUES"},
    "CheckHealth": {"BROKER_ENDPOINTS", "CACHE_ENDPOINT", "CACHE_TLS", "CHAT_MESSAGES_TABLE", "RETRY_QUEUE_URL"},
    "ManageDeadLetters": {
        "AD_CLICKS_TABLE",
        "ADS_RETENTION_DAYS",
        "CHAT_MESSAGES_TABLE",
        "CHAT_RETENTION_DAYS",
        "DEAD_LETTER_QUEUE_URL",
        "LIFT_RIDES_TABLE",
        "RETRY_QUEUE_URL",
        "SCOPE_PREFIX",
        "SKI_RETENTION_DAYS",
        "TIME_READ_SHARDS",
        "TIME_WRITE_SHARDS",
    },
    "ReturnParked": {
        "BROKER_ENDPOINTS",
        "BROKER_SECRET_ARN",
        "CACHE_ENDPOINT",
        "CACHE_TLS",
        "PERSIST_QUEUES",
        "RETRY_QUEUE_URL",
        "SCOPE_PREFIX",
    },
    "SendProbes": {"BROKER_ENDPOINTS", "BROKER_SECRET_ARN", "CHAT_MESSAGES_TABLE", "PERSIST_QUEUES"},
    "ReadStatus": {
        "BROKER_ENDPOINTS",
        "BROKER_SECRET_ARN",
        "CACHE_ENDPOINT",
        "CACHE_TLS",
        "CHAT_MESSAGES_TABLE",
        "DEAD_LETTER_QUEUE_URL",
        "PERSIST_QUEUES",
        "RETRY_QUEUE_URL",
        "SCOPE_PREFIX",
    },
}


@pytest.mark.parametrize("function", sorted(VARIABLES))
def test_a_function_has_only_the_variables_it_is_meant_to_have(template_stack: TemplateStack, function: str) -> None:
    assert template_stack.variables(function) == VARIABLES[function]


def test_every_function_is_named_in_these_tests(template_stack: TemplateStack) -> None:
    assert template_stack.folders.keys() == VARIABLES.keys()


def test_endpoints_are_declared_empty_so_that_a_stage_can_fill_them_in(template_stack: TemplateStack) -> None:
    for function in template_stack.folders:
        declared = template_stack.resources[function]["Properties"]["Environment"]["Variables"]
        assert {name: declared[name] for name in declared if name.startswith("AWS_")} == {
            "AWS_ENDPOINT_URL_DYNAMODB": "",
            "AWS_ENDPOINT_URL_SQS": "",
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": "",
            **({"AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI": ""} if function == "PushLive" else {}),
        }


def test_dead_letters_are_validated_with_what_persist_events_validates_with(template_stack: TemplateStack) -> None:
    def settings(function: str) -> dict[str, object]:
        declared = template_stack.resources[function]["Properties"]["Environment"]["Variables"]
        ours = ("AD_CLICKS_", "ADS_", "CHAT_", "LIFT_RIDES_", "SKI_", "TIME_")
        return {name: value for name, value in declared.items() if name.startswith(ours)}

    assert settings("ManageDeadLetters") == settings("PersistEvents")


def test_analytics_take_no_environment_from_ingestion(template_stack: TemplateStack) -> None:
    properties = template_stack.resources["ReadAnalytics"]["Properties"]

    assert properties["ReservedConcurrentExecutions"] == {"Ref": "AnalyticsConcurrency"}
    assert properties["Environment"]["Variables"]["ANALYTICS_PARALLEL_READS"] == {"Ref": "AnalyticsParallelReads"}


def test_whoever_stores_and_whoever_counts_mean_the_same_settling_time_and_shards(
    template_stack: TemplateStack,
) -> None:
    def of(function: str) -> dict[str, object]:
        declared = template_stack.resources[function]["Properties"]["Environment"]["Variables"]
        return {name: each for name, each in declared.items() if name.startswith("TIME_") or "SETTLE" in name}

    assert of("ReadAnalytics") == of("PersistEvents")
    assert of("ReadAds").items() <= of("PersistEvents").items()


def test_every_function_folder_is_in_the_template_and_the_other_way_round(template_stack: TemplateStack) -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}

    assert set(template_stack.folders.values()) == folders
