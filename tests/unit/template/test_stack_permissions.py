"""Each function has only the permissions that it needs."""

import json
from typing import Any

from tests.unit.template_stack import TemplateStack, as_list

CHANGES = ["#changes#*", "#reactions#*"]
"""The partitions of messages' changes."""


def test_no_policy_allows_every_action_of_a_service(template_stack: TemplateStack) -> None:
    assert [one for _, one in template_stack.statements() for action in as_list(one["Action"]) if "*" in action] == []


def test_a_function_writes_to_the_log_group_of_functions_and_no_other(template_stack: TemplateStack) -> None:
    """SAM's roles may write to every log group: a policy denies the others."""
    arn = json.dumps({"Fn::GetAtt": ["FunctionLogs", "Arn"]})
    for function in template_stack.folders:
        assert template_stack.resources[function]["Properties"]["LoggingConfig"]["LogGroup"] == {"Ref": "FunctionLogs"}
        logs = {one for one in template_stack.permissions(function) if one.action.startswith("logs:")}

        assert logs == {(action, arn, "null") for action in ("logs:CreateLogStream", "logs:PutLogEvents")}


def test_code_of_functions_may_not_manage_network_interfaces(template_stack: TemplateStack) -> None:
    """Lambda makes them with the same role. Roles of mappings are not limited: MappingPolicy says why."""
    for function in template_stack.folders:
        wide = {one.action for one in template_stack.permissions(function) if one.resource == '"*"'}
        in_vpc = "VpcConfig" in template_stack.resources[function]["Properties"]
        denials = template_stack.denials(function)

        assert bool(wide) == (in_vpc or function == "PushLive")
        assert all(action.startswith("ec2:") for action in wide)
        unlimited = {"ArchiveEvents", "PersistEvents", "PushLive", "SendWebhooks", "TellOthers"}
        assert len(denials) == (function not in unlimited)
        for denial in denials:
            assert (denial["Action"], denial["Resource"]) == ("ec2:*", "*")
            assert denial["Condition"].keys() == {"ArnLike"}
            assert denial["Condition"]["ArnLike"].keys() == {"lambda:SourceFunctionArn"}


PUBLISHING = {"ReceiveFrame", "ReceiveHttp", "ManageRooms", "PersistEvents", "SendProbes"}
MAPPED = {"PersistEvents", "PushLive"}


def test_mappings_may_describe_a_broker_until_an_update_has_deleted_it(template_stack: TemplateStack) -> None:
    """P3: while functions of the old version publish to it, a mapping that lost the right could stop for good."""
    for function in MAPPED:
        found = [one.resource for one in template_stack.permissions(function) if one.action == "mq:DescribeBroker"]

        assert ["Sub" in one and "${AWS::StackName}-*" in one for one in found] == [True]

    names = [broker["BrokerName"]["Fn::Sub"] for broker in template_stack.of_type("AWS::AmazonMQ::Broker").values()]
    assert all(name.startswith("${AWS::StackName}-") for name in names)


def test_publishers_and_mappings_wait_until_their_users_are_made(template_stack: TemplateStack) -> None:
    """A mapping waits for its function, whose name it has."""
    for function in PUBLISHING | MAPPED:
        assert "Topology" in as_list(template_stack.resources[function]["DependsOn"])
    waits_for = template_stack.resources["Topology"]["DependsOn"]
    assert {"BrokerFromTopology", "TopologyToBroker", "SecretsManagerEndpoint"} <= set(waits_for)


def test_of_messages_only_changes_are_deleted_and_none_is_replaced(template_stack: TemplateStack) -> None:
    for one in statements_of(template_stack, "PersistEvents", "ChatMessagesTable"):
        if "dynamodb:BatchWriteItem" in as_list(one["Action"]):
            assert one["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": CHANGES}}


def test_functions_delete_invitations_and_no_memberships(template_stack: TemplateStack) -> None:
    """P12."""
    found = [
        (name, one["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"])
        for name, one in template_stack.statements()
        if name in ("ManageRoomsRole", "ManageInvitationsRole")
        and "dynamodb:DeleteItem" in as_list(one["Action"])
        and "MembershipsTable" in str(one["Resource"])
    ]

    assert found == [("ManageRoomsRole", ["#invited#*"])]


def test_functions_that_read_probes_can_read_no_other_messages(template_stack: TemplateStack) -> None:
    """P12."""
    for function in ("SendProbes", "ReadStatus"):
        (query,) = statements_of(template_stack, function, "dynamodb")
        assert query["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["#probe#*"]}}


def test_operators_of_dead_letters_read_edits_and_deletions_and_no_messages(template_stack: TemplateStack) -> None:
    """P12."""
    look, query = statements_of(template_stack, "ManageDeadLetters", "dynamodb")

    assert look["Action"] == "dynamodb:BatchGetItem"
    assert look["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:Attributes": ["roomId", "timestampSk", "userId", "deletedAt", "deletedBy"]
    }
    assert query["Action"] == "dynamodb:Query"
    assert query["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["#changes#*"]}}


def test_the_function_that_stores_messages_writes_only_the_last_activity_of_rooms(
    template_stack: TemplateStack,
) -> None:
    """P12: the same rows have the kinds that rights depend on."""
    about_rooms = statements_of(template_stack, "PersistEvents", "RoomsTable")
    (update,) = [one for one in about_rooms if "dynamodb:UpdateItem" in as_list(one["Action"])]

    assert update["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["roomId", "lastKey"]},
        "StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "ALL_NEW"]},
    }


def test_analytics_cannot_read_the_text_of_messages(template_stack: TemplateStack) -> None:
    """P12."""
    (query,) = statements_of(template_stack, "ReadAnalytics", "dynamodb")

    assert query["Action"] == "dynamodb:Query"
    assert query["Condition"] == {
        "ForAllValues:StringEquals": {
            "dynamodb:Attributes": ["bucketId", "expiresAt", "roomId", "timestampSk", "userId"]
        },
        "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"},
    }


def test_the_function_that_stores_clicks_reads_only_what_it_sets(template_stack: TemplateStack) -> None:
    """P12."""
    insert, update = statements_of(template_stack, "PersistEvents", "AdClicksTable")

    assert insert["Action"] == "dynamodb:PartiQLInsert"
    assert update["Action"] == "dynamodb:UpdateItem"
    assert update["Condition"] == {"StringEqualsIfExists": {"dynamodb:ReturnValues": "UPDATED_NEW"}}


def test_no_read_function_can_read_the_hashes_of_addresses(template_stack: TemplateStack) -> None:
    """P12."""
    queried = [str(one["Resource"]) for name, one in template_stack.statements() if name == "ReadAdsRole"]
    indexes = template_stack.resources["AdClicksTable"]["Properties"]["GlobalSecondaryIndexes"]

    assert not any("'AdClicksTable', 'Arn'" in each for each in queried)
    assert not any(
        "addressHash" in str(index["Projection"]) or index["Projection"]["ProjectionType"] == "ALL" for index in indexes
    )
    assert template_stack.may("secretsmanager:GetSecretValue", "AddressSecret") == {
        "ReceiveHttpRole",
        "SecretsManagerEndpoint",
    }


def test_a_connections_own_row_is_written_by_the_functions_of_connections_only(template_stack: TemplateStack) -> None:
    """It has the expiry of the token. Frames about rooms write and delete rows of rooms."""
    for function in ("ReadFrame", "ManageRooms"):
        for one in statements_of(template_stack, function, "ConnectionsTable"):
            if set(as_list(one["Action"])) & {"dynamodb:PutItem", "dynamodb:BatchWriteItem"}:
                assert one["Condition"] == {"ForAllValues:StringNotLike": {"dynamodb:LeadingKeys": ["#connection#*"]}}
    puts = [
        one["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        for one in statements_of(template_stack, "TrackConnections", "ConnectionsTable")
        if "dynamodb:PutItem" in as_list(one["Action"])
    ]
    assert puts == [["#connection#*"]]


def statements_of(stack: TemplateStack, function: str, word: str) -> list[Any]:
    """What the role of a function allows, where a table or a service is named."""
    return [one for name, one in stack.statements() if name == f"{function}Role" and word in str(one)]
