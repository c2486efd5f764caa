"""What template.yaml promises, read from its translation."""

import tomllib
from collections import Counter
from typing import Any

import pytest

from headrace.core.stream import Stream
from headrace.persist import retry_schedule
from headrace.queues.names import live_queues
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from headrace.streams.ski.stream import SKI
from localstage.template import parameters
from tests.unit.stack import ROOT, Stack, as_list

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
# EC2 takes no narrower resource for network interfaces; the mappings' endpoints must name every resource, says AWS.
MAY_NAME_EVERY_RESOURCE = {"InVpcPolicy", "LambdaEndpoint", "StsEndpoint"}
OUTSIDE_THE_VPC = {"AuthorizeConnection", "OpenConnection", "CloseConnection", "ManageDeadLetters", "PushLive"}
# Connections that one node takes by default (single, cluster), as Amazon MQ documents them.
CONNECTIONS = {"mq.m7g.medium": (100, 100), "mq.m7g.large": (1500, 500), "mq.m7g.xlarge": (3000, 1000)}


def test_every_persist_queue_and_every_live_queue_has_one_mapping(stack: Stack) -> None:
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping").values()
    queues = Counter(queue for one in mappings for queue in one.get("Queues", []))

    count = int(stack.parameters["PersistQueues"]["Default"])
    assert queues == dict.fromkeys([*(f"persist.{number}" for number in range(count)), *live_queues()], 1)
    assert stack.parameters["PersistQueues"]["AllowedValues"] == [str(count)]
    assert stack.parameters["PersistQueuesInUse"]["MaxValue"] == count


def test_no_mapping_on_the_broker_relies_on_what_lambda_does_not_do_there(stack: Stack) -> None:
    for one in stack.of_type("AWS::Lambda::EventSourceMapping").values():
        if "Queues" in one:
            assert not {"FunctionResponseTypes", "DestinationConfig", "ScalingConfig", "FilterCriteria"} & one.keys()


def test_the_retry_lane_gives_back_single_records(stack: Stack) -> None:
    retry = stack.resources["PersistEventsRetry"]["Properties"]

    assert retry["EventSourceArn"] == {"Fn::GetAtt": ["RetryQueue", "Arn"]}
    assert retry["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_only_sqs_itself_moves_records_to_the_dead_letter_queue(stack: Stack) -> None:
    assert stack.may("sqs:SendMessage", "DeadLetterQueue") == set()
    sources = [
        name
        for name, queue in stack.of_type("AWS::SQS::Queue").items()
        if queue.get("RedrivePolicy", {}).get("deadLetterTargetArn") == {"Fn::GetAtt": ["DeadLetterQueue", "Arn"]}
    ]
    assert sources == ["RetryQueue"]
    allowed = stack.resources["DeadLetterQueue"]["Properties"]["RedriveAllowPolicy"]
    assert allowed["redrivePermission"] == "byQueue"
    assert len(allowed["sourceQueueArns"]) == 1


def test_a_record_is_tried_as_often_as_the_retry_budget_counts_before_it_is_dead(stack: Stack) -> None:
    assert stack.resources["RetryQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"] == retry_schedule.RECEIVES


def test_dead_letters_are_validated_with_what_persist_events_validates_with(stack: Stack) -> None:
    def settings(function: str) -> dict[str, object]:
        declared = stack.resources[function]["Properties"]["Environment"]["Variables"]
        ours = ("AD_CLICKS_", "ADS_", "CHAT_", "LIFT_RIDES_", "SKI_", "TIME_")
        return {name: value for name, value in declared.items() if name.startswith(ours)}

    assert settings("ManageDeadLetters") == settings("PersistEvents")


def test_only_operators_routes_take_from_the_dead_letter_queue(stack: Stack) -> None:
    for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage"):
        assert stack.may(action, "DeadLetterQueue") == {"ManageDeadLettersRole"}


def test_a_dead_record_outlives_the_retry_lane(stack: Stack) -> None:
    kept = {name: queue["MessageRetentionPeriod"] for name, queue in stack.of_type("AWS::SQS::Queue").items()}

    assert kept["DeadLetterQueue"] == 14 * 86400
    assert kept["RetryQueue"] < kept["DeadLetterQueue"]


def test_a_retried_record_stays_hidden_for_six_timeouts(stack: Stack) -> None:
    timeout = stack.resources["PersistEvents"]["Properties"]["Timeout"]

    assert stack.parameters["RetryVisibilitySeconds"]["MinValue"] >= 6 * timeout


def test_no_policy_names_every_resource_but_the_three_that_must(stack: Stack) -> None:
    wide = {name for name, one in stack.statements() if "*" in as_list(one["Resource"])}

    assert wide == MAY_NAME_EVERY_RESOURCE


def test_no_policy_allows_every_action_of_a_service(stack: Stack) -> None:
    assert [one for _, one in stack.statements() for action in as_list(one["Action"]) if "*" in action] == []


def test_every_function_has_a_role_of_its_own(stack: Stack) -> None:
    roles = Counter(stack.role_of(function) for function in stack.folders)

    assert set(roles.values()) == {1}
    managed = [
        one.get("ManagedPolicyArns", []) for name, one in stack.of_type("AWS::IAM::Role").items() if name in roles
    ]
    assert {str(arn) for arns in managed for arn in arns} == {str({"Ref": "InVpcPolicy"})}


def test_only_code_that_publishes_or_polls_may_read_the_brokers_password(stack: Stack) -> None:
    users = {
        "ReceiveFrame",
        "ReceiveHttp",
        "ManageRooms",
        "DeclareTopology",
        "PersistEvents",
        "PushLive",
        "SendProbes",
        "ReadStatus",
        "ReturnParked",
    }

    expected = {stack.role_of(function) for function in users} | {"SecretsManagerEndpoint"}
    assert stack.may("secretsmanager:GetSecretValue", "BrokerSecret") == expected


def test_only_persist_events_writes_events(stack: Stack) -> None:
    for table in ("AdClicksTable", "ChatMessagesTable", "LiftRidesTable"):
        assert stack.may("dynamodb:BatchWriteItem", table) == {"PersistEventsRole", "DynamoDbEndpoint"}


def test_only_what_manages_rooms_lets_people_in_and_out(stack: Stack) -> None:
    """P12: a sender can create an open room, and change nothing of any room or membership there is."""
    for action in ("dynamodb:UpdateItem", "dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"):
        may = stack.may(action, "MembershipsTable") - {"ManageRoomsRole", "DynamoDbEndpoint"}
        assert may <= {"ReadConversationsRole"}
    may = stack.may("dynamodb:UpdateItem", "RoomsTable") - {"ManageRoomsRole", "DynamoDbEndpoint"}
    assert may == {"PersistEventsRole"}


@pytest.mark.parametrize("function", sorted(VARIABLES))
def test_a_function_has_only_the_variables_it_is_meant_to_have(stack: Stack, function: str) -> None:
    assert stack.variables(function) == VARIABLES[function]


def test_every_function_is_named_in_these_tests(stack: Stack) -> None:
    assert stack.folders.keys() == VARIABLES.keys()


def test_endpoints_are_declared_empty_so_that_a_stage_can_fill_them_in(stack: Stack) -> None:
    for function in stack.folders:
        declared = stack.resources[function]["Properties"]["Environment"]["Variables"]
        assert {name: declared[name] for name in declared if name.startswith("AWS_")} == {
            "AWS_ENDPOINT_URL_DYNAMODB": "",
            "AWS_ENDPOINT_URL_SQS": "",
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": "",
            **({"AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI": ""} if function == "PushLive" else {}),
        }


def test_functions_that_need_public_addresses_are_outside_the_vpc_and_all_others_inside(stack: Stack) -> None:
    outside = {name for name in stack.folders if "VpcConfig" not in stack.resources[name]["Properties"]}

    assert outside == OUTSIDE_THE_VPC


def test_the_vpc_has_no_way_to_or_from_the_internet(stack: Stack) -> None:
    ways = {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::EIP"}

    assert not ways & {one["Type"] for one in stack.resources.values()}
    assert stack.resources["Broker"]["Properties"]["PubliclyAccessible"] is False


def test_every_frame_route_answers_on_the_same_connection(stack: Stack) -> None:
    routes = {
        name: one for name, one in stack.of_type("AWS::ApiGatewayV2::Route").items() if one["RouteKey"][1:] != "connect"
    }
    two_way = {name for name, one in routes.items() if one.get("RouteResponseSelectionExpression") == "$default"}
    answered = [one["RouteId"]["Ref"] for one in stack.of_type("AWS::ApiGatewayV2::RouteResponse").values()]

    assert two_way == {name for name, one in routes.items() if one["RouteKey"] != "$disconnect"}
    assert sorted(answered) == sorted(two_way)


def test_every_table_can_be_restored_and_all_but_those_that_rights_hang_on_forget_expired_items(stack: Stack) -> None:
    tables = stack.of_type("AWS::DynamoDB::Table")

    for table in tables.values():
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["SSESpecification"] == {"SSEEnabled": True}
    forget = {name for name, table in tables.items() if "TimeToLiveSpecification" in table}
    for name in forget:
        assert tables[name]["TimeToLiveSpecification"] == {"AttributeName": "expiresAt", "Enabled": True}
    assert tables.keys() == forget | {"RoomsTable", "MembershipsTable", "ResortsTable"}
    assert forget == {"AdClicksTable", "ChatMessagesTable", "ConnectionsTable", "LiftRidesTable"}


def test_no_function_behind_an_api_outlives_its_caller(stack: Stack) -> None:
    behind = set(stack.folders) - {"PersistEvents", "PushLive", "DeclareTopology", "SendProbes"}

    assert {name for name in behind if stack.resources[name]["Properties"]["Timeout"] > 29} == set()
    for integration in stack.of_type("AWS::ApiGatewayV2::Integration").values():
        function = integration["IntegrationUri"]["Fn::Sub"][1]["FunctionArn"]["Fn::GetAtt"][0]
        timeout = stack.resources[function]["Properties"]["Timeout"] * 1000
        assert timeout <= integration["TimeoutInMillis"] <= 29_000


def test_persist_events_ends_before_a_mapping_on_the_broker_must(stack: Stack) -> None:
    assert stack.resources["PersistEvents"]["Properties"]["Timeout"] <= 14 * 60


def test_no_burst_elsewhere_takes_environments_from_persisting(stack: Stack) -> None:
    reserved = stack.resources["PersistEvents"]["Properties"]["ReservedConcurrentExecutions"]

    mappings = int(stack.parameters["PersistQueues"]["Default"])
    assert reserved >= mappings + stack.parameters["RetryMaxConcurrency"]["MaxValue"]


def test_nothing_consumes_or_publishes_before_the_topology_stands(stack: Stack) -> None:
    for function in ("ReceiveFrame", "ReceiveHttp", "ManageRooms", "PersistEvents", "SendProbes"):
        assert "Topology" in as_list(stack.resources[function]["DependsOn"])


def test_new_code_declares_its_topology_when_it_is_deployed(stack: Stack) -> None:
    declared_by = stack.resources["Topology"]["Properties"]["DeclaredBy"]["Ref"]

    assert stack.resources[declared_by]["Type"] == "AWS::Lambda::LayerVersion"
    assert declared_by.startswith("HeadraceLayer")
    assert declared_by != "HeadraceLayer", "the translator adds a hash of the content"


def test_every_http_route_but_health_wants_a_token_with_a_scope(stack: Stack) -> None:
    paths = stack.resources["HttpApi"]["Properties"]["Body"]["paths"]

    bare = {
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method, one in methods.items()
        if not [scope for guard in one.get("security", []) for scope in guard.get("Jwt", [])]
    }
    assert bare == {"GET /health"}


def test_access_logs_hold_nothing_private(stack: Stack) -> None:
    for api in stack.of_type("AWS::ApiGatewayV2::Stage").values():
        for private in ("sourceIp", "claims", "path", "userAgent", "protocol", "authorizer.sub", "principalId"):
            assert private not in api["AccessLogSettings"]["Format"]


def test_every_function_folder_is_in_the_template_and_the_other_way_round(stack: Stack) -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}

    assert set(stack.folders.values()) == folders


@pytest.mark.parametrize("stage", ["default", "dev", "staging", "prod", "local"])
def test_a_stage_sets_only_parameters_that_the_template_allows(stack: Stack, stage: str) -> None:
    overrides = parameters.from_samconfig(ROOT / "samconfig.toml", stage)

    parameters.check_names(stack.parameters, overrides, stage)
    assert parameters.values(stack.parameters, overrides)["StageName"] == (stage if stage != "default" else "dev")


def test_without_a_stage_name_sam_does_what_it_does_for_dev() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())

    assert config["default"] == config["dev"]


@pytest.mark.parametrize("stage", ["dev", "staging", "prod"])
def test_a_stage_opens_no_more_connections_than_one_broker_node_takes(stack: Stack, stage: str) -> None:
    values = parameters.values(stack.parameters, parameters.from_samconfig(ROOT / "samconfig.toml", stage))
    alone, in_a_cluster = CONNECTIONS[values["BrokerInstanceType"]]
    limit = in_a_cluster if values["BrokerDeploymentMode"] == "CLUSTER_MULTI_AZ" else alone
    publishers = sum(int(values[f"{name}Concurrency"]) for name in ("ReceiveFrame", "ReceiveHttp", "ManageRooms"))

    assert int(values["BrokerConnectionLimit"]) == limit
    own = sum(
        stack.resources[name]["Properties"]["ReservedConcurrentExecutions"]
        for name in ("DeclareTopology", "SendProbes", "ReadStatus", "ReturnParked")
    )
    mappings = int(values["PersistQueues"]) + len(live_queues())
    # persist_events publishes live copies: from the mappings' environments, and from those of the retry lane.
    persisting = int(values["PersistQueues"]) + int(values["RetryMaxConcurrency"])
    assert publishers + mappings + persisting + own <= limit


def test_a_stage_that_does_not_probe_is_an_alarm_too(stack: Stack) -> None:
    """P4: a running stage sends one probe per persist queue and minute, and alarms if it is not readable in time."""
    alarm = stack.resources["ProbesAlarm"]["Properties"]
    (rule,) = [one for one in stack.of_type("AWS::Events::Rule").values() if "SendProbes" in str(one["Targets"])]

    assert rule["ScheduleExpression"] == "cron(* * * * ? *)"
    assert (alarm["MetricName"], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("ProbeMissing", 0, 2)
    assert (alarm["Period"], alarm["TreatMissingData"]) == (60, "breaching")


def test_what_the_broker_parks_is_counted_and_an_alarm(stack: Stack) -> None:
    alarm = stack.resources["ParkedAlarm"]["Properties"]
    (rule,) = [one for one in stack.of_type("AWS::Events::Rule").values() if "DeclareTopology" in str(one["Targets"])]

    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert (alarm["MetricName"], alarm["Threshold"], alarm["Period"]) == ("ParkedMessages", 0, 300)


def test_no_alarm_has_more_metrics_than_cloudwatch_takes(stack: Stack) -> None:
    for alarm in stack.of_type("AWS::CloudWatch::Alarm").values():
        assert sum("MetricStat" in one for one in alarm.get("Metrics", [])) <= 10


def test_the_functions_that_look_at_probes_can_read_nothing_else_of_the_messages(stack: Stack) -> None:
    """P12."""
    for role in ("SendProbesRole", "ReadStatusRole"):
        (query,) = [one for name, one in stack.statements() if name == role and "dynamodb" in str(one["Action"])]
        assert query["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["#probe#*"]}}


@pytest.mark.parametrize(
    ("role", "table", "attributes"),
    [
        ("ReadConversationsRole", "MembershipsTable", ["userId", "roomId", "readTo"]),
        ("PersistEventsRole", "RoomsTable", ["roomId", "lastKey"]),
    ],
)
def test_read_marks_and_last_activity_are_all_that_others_write_there(
    stack: Stack, role: str, table: str, attributes: list[str]
) -> None:
    """P12: what rights hang on stands in the same rows."""
    (update,) = [
        one
        for name, one in stack.statements()
        if name == role and "dynamodb:UpdateItem" in as_list(one["Action"]) and table in str(one["Resource"])
    ]

    assert update["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:Attributes": attributes},
        "StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"},
    }


def test_the_page_about_the_template_has_every_parameter_with_its_default(stack: Stack) -> None:
    page = (ROOT / "docs" / "template.md").read_text()

    missing = []
    for name, one in stack.parameters.items():
        default = f"`{one['Default']}`" if str(one["Default"]) else "empty"
        if f"| `{name}` | {default} |" not in page:
            missing.append(name)
    assert missing == []


def test_the_page_about_operations_explains_every_alarm(stack: Stack) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()

    assert [name for name in stack.of_type("AWS::CloudWatch::Alarm") if f"`{name}`" not in page] == []


def test_analytics_see_who_where_and_when_and_no_text(stack: Stack) -> None:
    """P12."""
    (query,) = [one for name, one in stack.statements() if name == "ReadAnalyticsRole" and "dynamodb" in str(one)]

    assert query["Action"] == "dynamodb:Query"
    assert query["Condition"] == {
        "ForAllValues:StringEquals": {
            "dynamodb:Attributes": ["bucketId", "expiresAt", "roomId", "timestampSk", "userId"]
        },
        "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"},
    }


def test_analytics_take_no_environment_from_ingestion(stack: Stack) -> None:
    properties = stack.resources["ReadAnalytics"]["Properties"]

    assert properties["ReservedConcurrentExecutions"] == {"Ref": "AnalyticsConcurrency"}
    assert properties["Environment"]["Variables"]["ANALYTICS_PARALLEL_READS"] == {"Ref": "AnalyticsParallelReads"}


def test_whoever_stores_and_whoever_counts_mean_the_same_settling_time_and_shards(stack: Stack) -> None:
    def of(function: str) -> dict[str, object]:
        declared = stack.resources[function]["Properties"]["Environment"]["Variables"]
        return {name: each for name, each in declared.items() if name.startswith("TIME_") or "SETTLE" in name}

    assert of("ReadAnalytics") == of("PersistEvents")
    assert of("ReadAds").items() <= of("PersistEvents").items()


@pytest.mark.parametrize(
    ("stream", "table", "index"),
    [(CHAT, "ChatMessagesTable", "TimeIndex"), (ADS, "AdClicksTable", "TimeIndex"), (ADS, "AdClicksTable", "AdIndex")],
)
def test_the_indexes_hold_what_slots_are_made_of(stack: Stack, stream: Stream, table: str, index: str) -> None:
    assert stream.slot_dimensions is not None
    (found,) = [
        one for one in stack.resources[table]["Properties"]["GlobalSecondaryIndexes"] if one["IndexName"] == index
    ]
    keys = {one["AttributeName"] for one in found["KeySchema"]} | {stream.partition_key, stream.sort_key}
    wanted = {stream.slot_dimensions.user, *stream.slot_dimensions.groups, "expiresAt"}
    assert set(found["Projection"]["NonKeyAttributes"]) == wanted - keys


def test_a_table_is_keyed_and_indexed_as_its_stream_says(stack: Stack) -> None:
    for stream, name in ((CHAT, "ChatMessagesTable"), (SKI, "LiftRidesTable"), (ADS, "AdClicksTable")):
        table = stack.resources[name]["Properties"]
        indexes = {one["IndexName"]: _key(one) for one in table["GlobalSecondaryIndexes"]}

        assert _key(table) == [stream.partition_key, stream.sort_key]
        assert indexes == {index.name: [index.partition_key, index.sort_key] for index in stream.indexes}


def _key(table: dict[str, Any]) -> list[str]:
    return [one["AttributeName"] for one in table["KeySchema"]]


def test_whoever_stores_clicks_sees_no_more_of_them_than_which_there_are(stack: Stack) -> None:
    """P12."""
    (look,) = [
        one
        for name, one in stack.statements()
        if name == "PersistEventsRole" and "AdClicksTable" in str(one["Resource"]) and "Condition" in one
    ]

    assert look["Action"] == "dynamodb:BatchGetItem"
    assert look["Condition"]["ForAllValues:StringEquals"] == {"dynamodb:Attributes": [ADS.partition_key, ADS.sort_key]}


def test_nothing_that_answers_questions_can_read_the_hashes_of_addresses(stack: Stack) -> None:
    """P12."""
    queried = [str(one["Resource"]) for name, one in stack.statements() if name == "ReadAdsRole"]
    indexes = stack.resources["AdClicksTable"]["Properties"]["GlobalSecondaryIndexes"]

    assert not any("'AdClicksTable', 'Arn'" in each for each in queried)
    assert not any(
        "addressHash" in str(index["Projection"]) or index["Projection"]["ProjectionType"] == "ALL" for index in indexes
    )
    assert stack.may("secretsmanager:GetSecretValue", "AddressSecret") == {"ReceiveHttpRole", "SecretsManagerEndpoint"}


def test_every_route_that_takes_batches_has_the_limits_of_batches(stack: Stack) -> None:
    paths = stack.resources["HttpApi"]["Properties"]["Body"]["paths"]
    settings = stack.resources["HttpApiApiGatewayDefaultStage"]["Properties"]["RouteSettings"]

    limits = {"ThrottlingRateLimit": {"Ref": "HttpBatchRate"}, "ThrottlingBurstLimit": {"Ref": "HttpBatchBurst"}}
    assert settings == {f"POST {path}": limits for path in paths if path.endswith("/batch")}
