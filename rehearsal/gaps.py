"""What the emulator lacks. Imports the standard library only, because the emulator's environment loads it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Gap:
    """A resource type that the emulator does not have. ``instead`` is what the rehearsal does for it.

    Properties outside of ``required`` and ``optional`` are refused, so that nothing unknown is accepted.
    """

    instead: str
    required: frozenset[str]
    optional: frozenset[str] = frozenset()
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What ``Fn::GetAtt`` returns. An attribute that is not here fails the stack."""

    def refusal(self, properties: Mapping[str, object]) -> str:
        """Why a resource with these properties is refused; empty if it is accepted."""
        if missing := self.required - properties.keys():
            return f"required properties are missing: {', '.join(sorted(missing))}"
        if unknown := properties.keys() - self.required - self.optional:
            known = ", ".join(sorted(self.required | self.optional))
            return f"properties that the rehearsal does not know: {', '.join(sorted(unknown))}; it knows {known}"
        return ""


def _gap(instead: str, required: str, optional: str = "", **attributes: str) -> Gap:
    return Gap(instead, frozenset(required.split()), frozenset(optional.split()), attributes)


BROKER = "AWS::AmazonMQ::Broker"
CACHE = "AWS::ElastiCache::ServerlessCache"
ROUTE_RESPONSE = "AWS::ApiGatewayV2::RouteResponse"
ALARM, COMPOSITE_ALARM = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"
_RULE = "Description SourceSecurityGroupId DestinationSecurityGroupId CidrIp FromPort ToPort"
_ACCEPTED = "accepted: only its properties are checked"

GAPS: Mapping[str, Gap] = {
    BROKER: _gap(
        "a real RabbitMQ with the user of the template",
        "BrokerName EngineType HostInstanceType DeploymentMode PubliclyAccessible Users",
        "EngineVersion AutoMinorVersionUpgrade SubnetIds SecurityGroups Logs Configuration MaintenanceWindowStartTime",
    ),
    "AWS::AmazonMQ::Configuration": _gap(_ACCEPTED, "Name EngineType Data", "EngineVersion Description", Revision="1"),
    CACHE: _gap(
        "a real Redis or Valkey",
        "ServerlessCacheName Engine",
        "Description MajorEngineVersion SubnetIds SecurityGroupIds CacheUsageLimits",
    ),
    ROUTE_RESPONSE: _gap("accepted, if its route exists", "ApiId RouteId RouteResponseKey"),
    "AWS::EC2::SecurityGroupEgress": _gap(_ACCEPTED, "GroupId IpProtocol", _RULE),
    "AWS::EC2::SecurityGroupIngress": _gap(_ACCEPTED, "GroupId IpProtocol", _RULE),
    COMPOSITE_ALARM: _gap(
        "created by the emulator, which follows its rule; a suppressor is not followed",
        "AlarmRule",
        "AlarmDescription AlarmActions OKActions "
        "ActionsSuppressor ActionsSuppressorWaitPeriod ActionsSuppressorExtensionPeriod",
    ),
    "AWS::CodeDeploy::Application": _gap(_ACCEPTED, "ComputePlatform", "ApplicationName Tags"),
    "AWS::CodeDeploy::DeploymentGroup": _gap(
        "accepted: only its properties are checked; the emulator moves an alias at once",
        "ApplicationName ServiceRoleArn DeploymentConfigName DeploymentStyle",
        "AlarmConfiguration AutoRollbackConfiguration TriggerConfigurations Tags",
    ),
    "AWS::ApplicationAutoScaling::ScalableTarget": _gap(
        _ACCEPTED, "MaxCapacity MinCapacity ResourceId ScalableDimension ServiceNamespace", "RoleARN"
    ),
    "AWS::ApplicationAutoScaling::ScalingPolicy": _gap(
        _ACCEPTED,
        "PolicyName PolicyType",
        "ScalingTargetId ResourceId ScalableDimension ServiceNamespace TargetTrackingScalingPolicyConfiguration",
    ),
}
