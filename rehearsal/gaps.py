"""What the emulator lacks. Imports the standard library only, because the emulator's environment loads it too."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Gap:
    """A resource type that the emulator does not have. ``instead`` is what the rehearsal does for it.

    Its properties are not looked at: ``make validate`` checks them.
    """

    instead: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What ``Fn::GetAtt`` returns. An attribute that is not here fails the stack."""


BROKER = "AWS::AmazonMQ::Broker"
CACHE = "AWS::ElastiCache::ServerlessCache"
ROUTE_RESPONSE = "AWS::ApiGatewayV2::RouteResponse"
ALARM, COMPOSITE_ALARM = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"

_TABLE = tomllib.loads(Path(__file__).with_name("gaps.toml").read_text(encoding="utf-8"))
GAPS: Mapping[str, Gap] = {type_: Gap(**given) for type_, given in _TABLE.items()}
