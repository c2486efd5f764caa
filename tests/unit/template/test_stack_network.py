"""The VPC contains all functions that need no public address, and has no way to the internet."""

from tests.unit.template_stack import TemplateStack

OUTSIDE_THE_VPC = {
    "AuthorizeConnection",
    "TrackConnections",
    "RenewConnection",
    "ManageDeadLetters",
    "PushLive",
}


def test_only_functions_that_need_public_addresses_are_outside_the_vpc(
    template_stack: TemplateStack,
) -> None:
    outside = {
        name for name in template_stack.folders if "VpcConfig" not in template_stack.resources[name]["Properties"]
    }

    assert outside == OUTSIDE_THE_VPC


def test_the_vpc_has_no_way_to_or_from_the_internet(template_stack: TemplateStack) -> None:
    ways = {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::EIP"}

    assert not ways & {one["Type"] for one in template_stack.resources.values()}
    assert template_stack.resources["Broker"]["Properties"]["PubliclyAccessible"] is False


def test_only_declare_topology_reaches_the_brokers_management_api(template_stack: TemplateStack) -> None:
    members = {
        name
        for name in template_stack.folders
        if {"Ref": "TopologySecurityGroup"}
        in template_stack.resources[name]["Properties"].get("VpcConfig", {}).get("SecurityGroupIds", [])
    }
    to_broker = [
        (one["SourceSecurityGroupId"]["Ref"], one["FromPort"], one["ToPort"])
        for one in template_stack.of_type("AWS::EC2::SecurityGroupIngress").values()
        if one["GroupId"] == {"Ref": "BrokerSecurityGroup"}
    ]

    assert members == {"DeclareTopology"}
    assert sorted(to_broker) == [
        ("BrokerSecurityGroup", 5671, 5671),
        ("FunctionsSecurityGroup", 5671, 5671),
        ("TopologySecurityGroup", 443, 443),
    ]


def test_s3_takes_only_answers_to_cloudformation_in_this_region(template_stack: TemplateStack) -> None:
    """Data could leave the VPC to any other bucket that the policy allows."""
    (statement,) = template_stack.resources["S3Endpoint"]["Properties"]["PolicyDocument"]["Statement"]
    pattern, values = statement["Resource"]["Fn::Sub"]

    assert statement["Action"] == "s3:PutObject"
    assert pattern == "arn:${AWS::Partition}:s3:::cloudformation-custom-resource-response-${Region}/*"
    assert values == {"Region": {"Fn::Join": ["", {"Fn::Split": ["-", {"Ref": "AWS::Region"}]}]}}


def test_zones_are_named_in_a_list_or_chosen_by_position(template_stack: TemplateStack) -> None:
    for number, zone in enumerate("ABC"):
        subnet = template_stack.resources[f"Subnet{zone}"]["Properties"]
        named, by_position = {"Fn::Split": [",", {"Ref": "Zones"}]}, {"Fn::GetAZs": ""}
        select = [{"Fn::Select": [number, zones]} for zones in (named, by_position)]

        assert subnet["AvailabilityZone"] == {"Fn::If": ["NamesZones", *select]}


def test_only_prod_pays_for_endpoints_in_two_zones(template_stack: TemplateStack) -> None:
    endpoints = [
        one for one in template_stack.of_type("AWS::EC2::VPCEndpoint").values() if one["VpcEndpointType"] == "Interface"
    ]
    subnets = {"Fn::If": ["IsProd", [{"Ref": "SubnetA"}, {"Ref": "SubnetB"}], [{"Ref": "SubnetA"}]]}

    assert [one["SubnetIds"] for one in endpoints] == [subnets] * 4
