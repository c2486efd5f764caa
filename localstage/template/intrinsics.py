"""Evaluates the intrinsic functions, conditions and dynamic references of CloudFormation that the template uses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from localstage.core.errors import TemplateError
from localstage.core.model import ACCOUNT
from localstage.template.attributes import PARTITION, STACK, URL_SUFFIX, Attributes

NO_VALUE: Final = object()
_SUB = re.compile(r"\$\{([^}]*)\}")
_DYNAMIC = re.compile(r"\{\{resolve:secretsmanager:(.+?):SecretString:(\w+)\}\}")


class Resolver:
    """Turns nodes of one template into plain values.

    ``secrets`` maps a secret's ARN to its string, for ``{{resolve:secretsmanager:…}}``; the reader of secrets fills it.
    """

    def __init__(
        self, document: Mapping[str, Any], parameters: Mapping[str, Any], attributes: Attributes, region: str
    ) -> None:
        self.attributes = attributes
        self.secrets: dict[str, str] = {}
        self._region = region
        self._resources: Mapping[str, Any] = document["Resources"]
        self._conditions: Mapping[str, Any] = document.get("Conditions") or {}
        self._mappings: Mapping[str, Any] = document.get("Mappings") or {}
        stack = f"arn:{PARTITION}:cloudformation:{region}:{ACCOUNT}:stack/{STACK}/local"
        self._named: dict[str, Any] = {
            "AWS::Region": region,
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": PARTITION,
            "AWS::URLSuffix": URL_SUFFIX,
            "AWS::StackName": STACK,
            "AWS::StackId": stack,
            "AWS::NoValue": NO_VALUE,
            **parameters,
        }

    def nested(self, document: Mapping[str, Any], parameters: Mapping[str, Any]) -> Resolver:
        """A resolver for the template of a nested stack."""
        return Resolver(document, parameters, self.attributes, self._region)

    def value(self, node: Any) -> Any:
        """``node`` with every function in it evaluated.

        Raises:
            TemplateError: an unknown name, or a function that a local stage cannot evaluate.
        """
        if isinstance(node, str):
            return _DYNAMIC.sub(self._secret, node)
        if isinstance(node, list):
            return [item for item in map(self.value, node) if item is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            name, argument = next(iter(node.items()))
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](self, argument)
            if name.startswith("Fn::"):
                raise TemplateError(f"the local stage cannot evaluate {name}")
        pairs = ((key, self.value(item)) for key, item in node.items())
        return {key: item for key, item in pairs if item is not NO_VALUE}

    def condition(self, name: str) -> bool:
        """Whether the named condition is true."""
        if name not in self._conditions:
            raise TemplateError(f"the template has no condition {name}")
        return self._truth(self._conditions[name])

    def exists(self, logical_id: str) -> bool:
        """Whether the resource exists, by its condition."""
        condition = self._resources[logical_id].get("Condition")
        return condition is None or self.condition(condition)

    def _truth(self, node: Mapping[str, Any]) -> bool:
        match node:
            case {"Condition": name}:
                return self.condition(name)
            case {"Fn::Equals": [left, right]}:
                return as_text(self.value(left)) == as_text(self.value(right))
            case {"Fn::Not": [inner]}:
                return not self._truth(inner)
            case {"Fn::And": list(parts)}:
                return all(map(self._truth, parts))
            case {"Fn::Or": list(parts)}:
                return any(map(self._truth, parts))
        raise TemplateError(f"{node} is not a condition; one of Condition, Fn::And, Fn::Equals, Fn::Not, Fn::Or")

    def _secret(self, match: re.Match[str]) -> str:
        if match[1] not in self.secrets:
            raise TemplateError(f"{match[1]} is not a secret of this template")
        return str(json.loads(self.secrets[match[1]])[match[2]])

    def _attribute(self, logical_id: str, attribute: str) -> Any:
        if logical_id not in self._resources:
            raise TemplateError(f'"{logical_id}" is neither a parameter nor a resource of the template')
        if not self.exists(logical_id):
            raise TemplateError(f"{logical_id} does not exist, its condition is false")
        resource = self._resources[logical_id]

        def other(name: str) -> str:
            return as_text(self.value(resource.get("Properties", {}).get(name)))

        return self.attributes.value(resource["Type"], logical_id, attribute, other, self._region)

    def _ref(self, name: str) -> Any:
        return self._named[name] if name in self._named else self._attribute(name, "Ref")

    def _get_att(self, argument: list[str]) -> Any:
        return self._attribute(argument[0], ".".join(argument[1:]))

    def _sub(self, argument: Any) -> str:
        text, own = argument if isinstance(argument, list) else (argument, {})
        values = {name: self.value(item) for name, item in own.items()}

        def replace(match: re.Match[str]) -> str:
            logical_id, _, attribute = match[1].partition(".")
            if match[1] in values:
                return as_text(values[match[1]])
            return as_text(self._attribute(logical_id, attribute) if attribute else self._ref(logical_id))

        return str(self.value(_SUB.sub(replace, text)))

    def _join(self, argument: Any) -> str:
        delimiter, items = self.value(argument)
        return str(self.value(delimiter.join(map(as_text, items))))

    def _select(self, argument: Any) -> Any:
        index, items = self.value(argument)
        return items[int(index)]

    def _find_in_map(self, argument: Any) -> Any:
        name, first, second = self.value(argument)
        return self._mappings[name][first][second]

    def _split(self, argument: Any) -> list[str]:
        delimiter, text = self.value(argument)
        return as_text(text).split(delimiter)

    def _if(self, argument: Any) -> Any:
        condition, then, otherwise = argument
        return self.value(then if self.condition(condition) else otherwise)


def as_text(value: Any) -> str:
    """A value as CloudFormation writes it into text: ``true``, ``5``, lists joined with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(as_text, value))
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return "" if value is None or value is NO_VALUE else str(value)


_FUNCTIONS: Mapping[str, Callable[[Resolver, Any], Any]] = {
    "Ref": Resolver._ref,
    "Fn::GetAtt": Resolver._get_att,
    "Fn::Sub": Resolver._sub,
    "Fn::Join": Resolver._join,
    "Fn::FindInMap": Resolver._find_in_map,
    "Fn::Select": Resolver._select,
    "Fn::Split": Resolver._split,
    "Fn::If": Resolver._if,
}
