"""Resources of a translated template with evaluated properties, and typed getters whose errors name the place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from localstage.core.errors import TemplateError
from localstage.template.intrinsics import Resolver, as_text

_REQUIRED: Final = object()
_FUNCTION_ARN = re.compile(r":function:([^:/]+)")


@dataclass(frozen=True)
class Resource:
    """One resource; ``properties`` are plain values. Every getter raises TemplateError for what AWS would refuse."""

    id: str
    type: str
    properties: Mapping[str, Any]

    def text(self, name: str, default: Any = _REQUIRED) -> str:
        """A text property; numbers and booleans as CloudFormation writes them."""
        value = self._get(name, default)
        if isinstance(value, (dict, list)):
            raise self.wrong(name, "must be a text")
        return as_text(value)

    def integer(self, name: str, default: Any = _REQUIRED, *, low: int = 0, high: int | None = None) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        value = self._get(name, default)
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise self.wrong(name, "must be a whole number") from None
        if number < low or (high is not None and number > high):
            raise self.wrong(name, f"must be from {low} to {high if high is not None else 'any'}")
        return number

    def flag(self, name: str, default: bool) -> bool:
        """A boolean, also as text from a parameter."""
        value = as_text(self._get(name, default)).lower()
        if value not in ("true", "false"):
            raise self.wrong(name, "must be true or false")
        return value == "true"

    def items(self, name: str) -> list[Any]:
        """A list; empty if the property is missing."""
        value = self._get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "must be a list")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """A mapping; empty if the property is missing."""
        value = self._get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, "must be a mapping")
        return value

    def has(self, name: str) -> bool:
        """Whether the property is set."""
        return self.properties.get(name) is not None

    def inner(self, name: str, properties: Any) -> Resource:
        """A mapping inside this resource with the same getters; ``name`` says where."""
        if not isinstance(properties, dict):
            raise self.wrong(name, "must be a mapping")
        return Resource(f"{self.id}.{name}", self.type, properties)

    def wrong(self, name: str, want: str) -> TemplateError:
        """The error for one property; shows the value unless it could be private."""
        value = self.properties.get(name)
        private = any(word in name.lower() for word in ("secret", "password", "token"))
        got = "" if value is None or private or isinstance(value, (dict, list)) else f'got "{as_text(value)}", '
        return TemplateError(f"{self.id}.{name}: {got}{want}")

    def _get(self, name: str, default: Any) -> Any:
        value = self.properties.get(name)
        if value is not None:
            return value
        if default is _REQUIRED:
            raise TemplateError(f"{self.id}.{name} is missing")
        return default


class Stack:
    """The resources of one translated template whose conditions are true."""

    def __init__(self, document: Mapping[str, Any], resolver: Resolver) -> None:
        self.resolver = resolver
        self._present = {
            logical_id: resource
            for logical_id, resource in document["Resources"].items()
            if resolver.exists(logical_id)
        }
        self._evaluated: dict[str, Resource] = {}
        self._functions: dict[str, str] | None = None

    @property
    def types(self) -> Mapping[str, str]:
        """The type of each resource by logical id."""
        return {logical_id: resource["Type"] for logical_id, resource in self._present.items()}

    def all(self, *types: str) -> Iterator[Resource]:
        """The resources of these types in the template's order; a trailing ``*`` stands for any ending."""
        for logical_id, type_ in self.types.items():
            if any(type_ == one or (one.endswith("*") and type_.startswith(one[:-1])) for one in types):
                yield self.get(logical_id)

    def get(self, logical_id: str) -> Resource:
        """One resource, its properties evaluated."""
        if logical_id not in self._evaluated:
            resource = self._present[logical_id]
            properties = self.resolver.value(resource.get("Properties") or {}, logical_id)
            self._evaluated[logical_id] = Resource(logical_id, resource["Type"], properties)
        return self._evaluated[logical_id]

    def ref(self, logical_id: str) -> str:
        """The value of Ref for a resource of this template."""
        return as_text(self.resolver.value({"Ref": logical_id}, logical_id))

    def attribute(self, logical_id: str, attribute: str) -> str:
        """The value of GetAtt for a resource of this template."""
        return as_text(self.resolver.value({"Fn::GetAtt": [logical_id, attribute]}, logical_id))

    def function_id(self, reference: str) -> str | None:
        """The logical id of the function that a name, an ARN, an alias' ARN or an invocation URI refers to."""
        if self._functions is None:
            ids = [one for one, type_ in self.types.items() if type_ == "AWS::Lambda::Function"]
            self._functions = {self.ref(one): one for one in ids}
        match = _FUNCTION_ARN.search(reference)
        return self._functions.get(match[1] if match else reference)

    def by_attribute(self, type_: str, attribute: str, value: str) -> str | None:
        """The logical id of the resource of a type whose attribute is ``value``."""
        for logical_id, one in self.types.items():
            if one == type_ and self.attribute(logical_id, attribute) == value:
                return logical_id
        return None
