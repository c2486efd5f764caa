"""What the emulator lacks. Imports the standard library only, because the emulator's environment loads it too."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


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


BROKER = "AWS::AmazonMQ::Broker"
CACHE = "AWS::ElastiCache::ServerlessCache"
ROUTE_RESPONSE = "AWS::ApiGatewayV2::RouteResponse"
ALARM, COMPOSITE_ALARM = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"


def _gap(instead: str, required: Iterable[str], optional: Iterable[str] = (), **attributes: Mapping[str, str]) -> Gap:
    return Gap(instead, frozenset(required), frozenset(optional), **attributes)


_TABLE = tomllib.loads(Path(__file__).with_name("gaps.toml").read_text(encoding="utf-8"))
GAPS: Mapping[str, Gap] = {type_: _gap(**given) for type_, given in _TABLE.items()}
