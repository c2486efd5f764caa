"""The environment variables of each function."""

import pytest

from headrace.streams.registry import STREAMS
from tests.unit.template_stack import ROOT, TemplateStack

# To publish to the broker, and to query it.
BROKER = {"BROKER_ENDPOINTS", "BROKER_SECRET_ARN"}
# The limits on events.
RATES = {"EVENT_RATE", "BACKLOG_SECONDS"}
# The tables that decide rights.
RIGHTS = {"MEMBERSHIPS_TABLE", "ROOMS_TABLE"}
GATE = RIGHTS | {"ROOMS_BY_FIRST_MESSAGE"}
# The tables of the streams, and how long they keep their rows.
EVENT_TABLES = {name for each in STREAMS.values() for name in (each.table_setting, each.retention_setting)}
# Settings that all functions share: none names a table, a queue, an endpoint or a secret.
SHARED = {
    "POWERTOOLS_SERVICE_NAME",
    "POWERTOOLS_LOG_LEVEL",
    "PYDANTIC_DISABLE_PLUGINS",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER",
    "SCOPE_PREFIX",
    "PERSIST_QUEUES",
    "TIME_SHARDS_READ",
    "TIME_SHARDS_WRITTEN",
    "REQUEST_RATE",
    "TRUSTED_EVENT_RATE",
}
ERASURES = {"ERASURES_TABLE", "ERASURE_QUEUE_URL", "ERASURE_SECRET_ARN"}
EXPORTS = {"ERASURES_TABLE", "ERASURE_SECRET_ARN", "EXPORTS_BUCKET", "EXPORT_QUEUE_URL"}
EXPORTS |= {"MEMBERSHIPS_TABLE", "ROOMS_TABLE"}
# The other variables of each function.
VARIABLES = {
    "AuthorizeConnection": {"JWT_AUDIENCE", "JWT_ISSUER"},
    "TrackConnections": {"CONNECTIONS_TABLE"},
    "RenewConnection": {"CONNECTIONS_TABLE", "JWT_AUDIENCE", "JWT_ISSUER"},
    "ReceiveFrame": BROKER
    | RATES
    | GATE
    | {"ATTACHMENTS_BUCKET", "CACHE_ENDPOINT", "CHAT_MESSAGES_TABLE", "CONNECTIONS_TABLE", "RETRY_QUEUE_URL"},
    "ReceiveHttp": BROKER
    | RATES
    | GATE
    | {"ADDRESS_SECRET_ARN", "ATTACHMENTS_BUCKET", "CACHE_ENDPOINT", "CHAT_MESSAGES_TABLE"}
    | {"RESORTS_TABLE", "RETRY_QUEUE_URL"},
    "ManageRooms": BROKER
    | RIGHTS
    | {"ATTACHMENTS_BUCKET", "CACHE_ENDPOINT", "CHAT_RETENTION_DAYS", "CONNECTIONS_TABLE"}
    | {"CURSOR_SECRET_ARN", "RETRY_QUEUE_URL"},
    "PersistEvents": BROKER
    | GATE
    | EVENT_TABLES
    | {
        "ATTACHMENTS_BUCKET",
        "BACKLOG_SECONDS",
        "CACHE_ENDPOINT",
        "CONNECTIONS_TABLE",
        "ERASURES_TABLE",
        "ERASURE_SECRET_ARN",
        "RESORTS_TABLE",
        "RETRY_FIRST_PAUSE_SECONDS",
        "RETRY_QUEUE_URL",
    },
    "ReadFrame": RIGHTS | {"CACHE_ENDPOINT", "CHAT_MESSAGES_TABLE", "CONNECTIONS_TABLE", "CURSOR_SECRET_ARN"},
    "PushLive": {"CONNECTIONS_TABLE"},
    "SendWebhooks": {
        "WEBHOOKS_TABLE",
        "WEBHOOK_ADDRESSES",
        "WEBHOOK_DEAD_LETTER_QUEUE_URL",
        "WEBHOOK_FAILING_SECONDS",
        "WEBHOOK_FAILURES",
        "WEBHOOK_OFF_PAUSE_SECONDS",
        "WEBHOOK_QUEUE_URL",
        "WEBHOOK_SECRET_ARN",
        "WEBHOOK_URL",
    },
    "ArchiveEvents": {"ARCHIVE_BUCKET"},
    "TellOthers": {"TELL_TARGET", "TELL_TYPES", "UNTOLD_QUEUE_URL"},
    "ManageConnections": {"CONNECTIONS_TABLE"},
    "ManageErasures": ERASURES,
    "EraseUsers": ERASURES
    | {
        "AD_CLICKS_TABLE",
        "ARCHIVE_BUCKET",
        "ATTACHMENTS_BUCKET",
        "CACHE_ENDPOINT",
        "CHAT_MESSAGES_TABLE",
        "CONNECTIONS_TABLE",
        "DEAD_LETTER_QUEUE_URL",
        "EXPORTS_BUCKET",
        "LIFT_RIDES_TABLE",
        "MEMBERSHIPS_TABLE",
        "RESORTS_TABLE",
        "RETRY_QUEUE_URL",
        "ROOMS_TABLE",
    },
    "ManageExports": EXPORTS,
    "WriteExports": EXPORTS
    | {"AD_CLICKS_TABLE", "ATTACHMENTS_BUCKET", "CHAT_MESSAGES_TABLE", "CONNECTIONS_TABLE", "LIFT_RIDES_TABLE"},
    "TidyAttachments": RIGHTS | {"ATTACHMENTS_BUCKET"},
    "ReadChat": RIGHTS | {"ATTACHMENTS_BUCKET", "CACHE_ENDPOINT", "CHAT_MESSAGES_TABLE", "CURSOR_SECRET_ARN"},
    "ReadAnalytics": {"CACHE_ENDPOINT", "CHAT_MESSAGES_TABLE"},
    "ManageInvitations": RIGHTS | {"CACHE_ENDPOINT", "CURSOR_SECRET_ARN"},
    "ReadSki": {"CACHE_ENDPOINT", "LIFT_RIDES_TABLE", "RESORTS_TABLE"},
    "ReadAds": {"AD_CLICKS_TABLE", "CACHE_ENDPOINT", "CURSOR_SECRET_ARN"},
    "DeclareTopology": BROKER | {"BROKER_CONSOLE_URLS", "BROKER_CONSUMER_SECRET_ARN", "BROKER_PUBLISHER_SECRET_ARN"},
    "CheckHealth": {"BROKER_ENDPOINTS", "CACHE_ENDPOINT", "CHAT_MESSAGES_TABLE", "RETRY_QUEUE_URL"},
    "ManageDeadLetters": EVENT_TABLES | {"DEAD_LETTER_QUEUE_URL", "RETRY_QUEUE_URL"},
    "ReturnParked": BROKER | {"CACHE_ENDPOINT", "RETRY_QUEUE_URL"},
    "SendProbes": BROKER | {"CHAT_MESSAGES_TABLE"},
    "ReadStatus": BROKER | {"CACHE_ENDPOINT", "CHAT_MESSAGES_TABLE", "DEAD_LETTER_QUEUE_URL", "RETRY_QUEUE_URL"},
}


@pytest.mark.parametrize("function", sorted(VARIABLES))
def test_a_function_has_only_the_variables_it_needs(template_stack: TemplateStack, function: str) -> None:
    assert template_stack.variables(function) == VARIABLES[function]


def test_all_functions_share_settings_and_no_address(template_stack: TemplateStack) -> None:
    assert template_stack.shared_variables.keys() == SHARED


def test_every_function_is_named_in_these_tests(template_stack: TemplateStack) -> None:
    assert template_stack.folders.keys() == VARIABLES.keys()


def test_endpoints_are_declared_empty_so_that_a_stage_can_fill_them_in(template_stack: TemplateStack) -> None:
    for function in template_stack.folders:
        declared = template_stack.resources[function]["Properties"]["Environment"]["Variables"]
        own = {"AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI"}  # the address of the stage's own API
        if function == "TellOthers":
            assert declared["AWS_ENDPOINT_URL_EVENTBRIDGE"] == ""
            own.add("AWS_ENDPOINT_URL_EVENTBRIDGE")
        if declared.keys() & {"ARCHIVE_BUCKET", "ATTACHMENTS_BUCKET", "EXPORTS_BUCKET"}:
            assert declared["AWS_ENDPOINT_URL_S3"] == ""
            own.add("AWS_ENDPOINT_URL_S3")
        assert {name: declared[name] for name in declared.keys() - own if name.startswith("AWS_")} == {
            "AWS_ENDPOINT_URL_DYNAMODB": "",
            "AWS_ENDPOINT_URL_SQS": "",
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": "",
        }


def test_functions_that_manage_connections_have_the_address_of_the_websocket_api(template_stack: TemplateStack) -> None:
    for function in ("PushLive", "ManageConnections"):
        url = template_stack.value_of(function, "AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI")
        assert url == {"Fn::Sub": "https://${WebSocketApi}.execute-api.${AWS::Region}.${AWS::URLSuffix}/${StageName}"}


def test_dead_letters_are_validated_with_the_settings_of_persist_events(template_stack: TemplateStack) -> None:
    for variable in EVENT_TABLES:
        in_persist_events = template_stack.value_of("PersistEvents", variable)
        assert template_stack.value_of("ManageDeadLetters", variable) == in_persist_events


def test_analytics_take_no_environment_from_ingestion(template_stack: TemplateStack) -> None:
    assert template_stack.reserved("ReadAnalytics") == 5


def test_every_function_folder_is_in_the_template_and_the_other_way_round(template_stack: TemplateStack) -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}

    assert set(template_stack.folders.values()) == folders
