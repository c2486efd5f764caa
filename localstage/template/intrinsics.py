"""Evaluates CloudFormation's intrinsic functions, conditions and dynamic references."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from localstage.core.errors import TemplateError
from localstage.template.attributes import PARTITION, STACK, URL_SUFFIX, Attributes

NO_VALUE: Final = object()
SUB = re.compile(r"\$\{([^}]*)\}")
_DYNAMIC = re.compile(r"\{\{resolve:([^:}]+):([^}]*)\}\}")
_ARN_PARTS = 7


class Resolver:
    """Turns nodes of one template into plain values.

    ``secrets`` maps a secret's ARN and its name to its string, for ``{{resolve:secretsmanager:…}}``; the reader
    of secrets fills it. ``where`` in every method names the place in messages, such as ``EchoFunction.Timeout``.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        parameters: Mapping[str, Any],
        attributes: Attributes,
        region: str,
    ) -> None:
        self.attributes = attributes
        self.region = region
        self.secrets: dict[str, str] = {}
        self.parameters = parameters
        self._resources: Mapping[str, Any] = document["Resources"]
        self._conditions: Mapping[str, Any] = document.get("Conditions") or {}
        self.pseudo: dict[str, Any] = {
            "AWS::Region": region,
            "AWS::AccountId": attributes.live.account,
            "AWS::Partition": PARTITION,
            "AWS::URLSuffix": URL_SUFFIX,
            "AWS::StackName": STACK,
            "AWS::StackId": f"arn:{PARTITION}:cloudformation:{region}:{attributes.live.account}:stack/{STACK}/local",
            "AWS::NotificationARNs": [],
            "AWS::NoValue": NO_VALUE,
        }
        self._evaluating: list[str] = []

    def value(self, node: Any, where: str) -> Any:
        """``node`` with every function in it evaluated.

        Raises:
            TemplateError: an unknown name, a function used wrongly, or one that a local stage cannot evaluate.
        """
        if isinstance(node, str):
            return self._dynamic(node, where)
        if isinstance(node, list):
            items = (self.value(item, f"{where}[{index}]") for index, item in enumerate(node))
            return [item for item in items if item is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            name, argument = next(iter(node.items()))
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](self, argument, where)
            if isinstance(name, str) and name.startswith("Fn::"):
                raise TemplateError(f"{where}: the local stage cannot evaluate {name}")
        pairs = ((key, self.value(item, f"{where}.{key}")) for key, item in node.items())
        return {key: item for key, item in pairs if item is not NO_VALUE}

    def condition(self, name: str, where: str) -> bool:
        """Whether the named condition is true."""
        if name not in self._conditions:
            raise TemplateError(f"{where}: the template has no condition {name}")
        return bool(self._guarded(f"Conditions.{name}", lambda here: self._truth(self._conditions[name], here)))

    def exists(self, logical_id: str) -> bool:
        """Whether the resource exists, by its condition."""
        condition = self._resources[logical_id].get("Condition")
        return condition is None or self.condition(condition, f"{logical_id}.Condition")

    def _guarded(self, key: str, evaluate: Callable[[str], Any]) -> Any:
        if key in self._evaluating:
            raise TemplateError(f"{' -> '.join([*self._evaluating, key])}: refers to itself")
        self._evaluating.append(key)
        try:
            return evaluate(key)
        finally:
            self._evaluating.pop()

    def _dynamic(self, text: str, where: str) -> str:
        def replace(match: re.Match[str]) -> str:
            service, reference = match[1], match[2]
            if service != "secretsmanager":
                raise TemplateError(f"{where}: the local stage resolves secretsmanager only, not {service}")
            parts = reference.split(":")
            count = _ARN_PARTS if parts[0] == "arn" else 1
            secret, rest = ":".join(parts[:count]), parts[count:]
            if secret not in self.secrets:
                raise TemplateError(f"{where}: {secret} is not a secret of this template")
            return _secret_part(self.secrets[secret], rest[1] if len(rest) > 1 else "", where)

        return _DYNAMIC.sub(replace, text) if "{{resolve:" in text else text

    def _property(self, logical_id: str, name: str) -> str:
        node = (self._resources[logical_id].get("Properties") or {}).get(name)
        if node is None:
            return ""
        value = self._guarded(f"{logical_id}.{name}", lambda here: self.value(node, here))
        return "" if value is NO_VALUE else as_text(value)

    def _resource(self, logical_id: str, where: str) -> str:
        if logical_id not in self._resources:
            raise TemplateError(f'{where}: "{logical_id}" is neither a parameter nor a resource of the template')
        if not self.exists(logical_id):
            raise TemplateError(f"{where}: {logical_id} does not exist, its condition is false")
        return str(self._resources[logical_id]["Type"])

    def _ref(self, name: Any, where: str) -> Any:
        if name in self.pseudo:
            return self.pseudo[name]
        if name in self.parameters:
            return self.parameters[name]
        type_ = self._resource(name, where)
        return self.attributes.ref(type_, name, lambda other: self._property(name, other), self.region)

    def _get_att(self, argument: Any, where: str) -> Any:
        parts = argument.split(".", 1) if isinstance(argument, str) else argument
        if not isinstance(parts, list) or len(parts) < 2:
            raise TemplateError(f"{where}: Fn::GetAtt needs a resource and an attribute")
        logical_id = parts[0]
        attribute = ".".join(as_text(self.value(part, where)) for part in parts[1:])
        type_ = self._resource(logical_id, where)
        return self.attributes.get_att(
            type_, logical_id, attribute, lambda other: self._property(logical_id, other), self.region
        )

    def _sub(self, argument: Any, where: str) -> str:
        text, own = argument, {}
        if isinstance(argument, list):
            if len(argument) != 2 or not isinstance(argument[1], dict):
                raise TemplateError(f"{where}: Fn::Sub needs a text, or a text and a mapping")
            text, own = argument[0], {name: self.value(item, where) for name, item in argument[1].items()}
        if not isinstance(text, str):
            raise TemplateError(f"{where}: Fn::Sub needs a text")

        def replace(match: re.Match[str]) -> str:
            name = match[1].strip()
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in own:
                return as_text(own[name])
            return as_text(self._get_att(name, where) if "." in name else self._ref(name, where))

        return self._dynamic(SUB.sub(replace, text), where)

    def _join(self, argument: Any, where: str) -> str:
        delimiter, items = self._pair("Fn::Join", argument, where)
        if not isinstance(items, list):
            raise TemplateError(f"{where}: Fn::Join needs a list")
        text = as_text(delimiter).join(as_text(item) for item in items)
        return self._dynamic(text, where)

    def _select(self, argument: Any, where: str) -> Any:
        index, items = self._pair("Fn::Select", argument, where)
        try:
            if isinstance(items, list) and int(index) >= 0:
                return items[int(index)]
        except (ValueError, TypeError, IndexError):
            pass
        raise TemplateError(f"{where}: Fn::Select has no item {index} to choose")

    def _split(self, argument: Any, where: str) -> list[str]:
        delimiter, text = self._pair("Fn::Split", argument, where)
        if not delimiter:
            raise TemplateError(f"{where}: Fn::Split needs a delimiter")
        return as_text(text).split(delimiter)

    def _if(self, argument: Any, where: str) -> Any:
        if not isinstance(argument, list) or len(argument) != 3:
            raise TemplateError(f"{where}: Fn::If needs a condition and two values")
        return self.value(argument[1] if self.condition(argument[0], where) else argument[2], where)

    def _zones(self, argument: Any, where: str) -> list[str]:
        region = as_text(self.value(argument, where)) or self.region
        return [f"{region}{zone}" for zone in "abc"]

    def _truth(self, node: Any, where: str) -> bool:
        if isinstance(node, dict) and len(node) == 1:
            name, argument = next(iter(node.items()))
            if name == "Condition":
                return self.condition(argument, where)
            if name == "Fn::Equals":
                left, right = self._pair(name, argument, where)
                return as_text(left) == as_text(right)
            if name == "Fn::Not":
                return not self._truth(argument[0] if isinstance(argument, list) else argument, where)
        raise TemplateError(f"{where}: not a condition; one of Condition, Fn::Equals, Fn::Not")

    def _pair(self, name: str, argument: Any, where: str) -> tuple[Any, Any]:
        if not isinstance(argument, list) or len(argument) != 2:
            raise TemplateError(f"{where}: {name} needs two arguments")
        return self.value(argument[0], where), self.value(argument[1], where)


def as_text(value: Any) -> str:
    """A value as CloudFormation writes it into text: ``true``, ``5``, lists joined with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(as_text(item) for item in value)
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return "" if value is None or value is NO_VALUE else str(value)


def _secret_part(value: str, key: str, where: str) -> str:
    if not key:
        return value
    try:
        return as_text(json.loads(value)[key])
    except (ValueError, KeyError, TypeError):
        raise TemplateError(f'{where}: the secret has no JSON key "{key}"') from None


_FUNCTIONS: Mapping[str, Callable[[Resolver, Any, str], Any]] = {
    "Ref": Resolver._ref,
    "Fn::GetAtt": Resolver._get_att,
    "Fn::Sub": Resolver._sub,
    "Fn::Join": Resolver._join,
    "Fn::Select": Resolver._select,
    "Fn::Split": Resolver._split,
    "Fn::If": Resolver._if,
    "Fn::GetAZs": Resolver._zones,
}
