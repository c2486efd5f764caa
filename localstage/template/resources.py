"""Resources of a translated template with evaluated properties.

Their form is that of CloudFormation, which ``make validate`` checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from localstage.core.errors import TemplateError
from localstage.template.intrinsics import Resolver, as_text

_FUNCTION_ARN = re.compile(r":function:([^:/]+)")
Properties = dict[str, Any]
T = TypeVar("T")


class Stack:
    """The resources of one translated template whose conditions are true."""

    def __init__(self, document: Mapping[str, Any], resolver: Resolver) -> None:
        self.resolver = resolver
        self.present = {id: one for id, one in document["Resources"].items() if resolver.exists(id)}
        self._evaluated: dict[str, Properties] = {}
        self._functions = {self.value(id): id for id in self._ids("AWS::Lambda::Function")}

    def read(self, type_: str, make: Callable[[str, Properties], T | None]) -> dict[str, T]:
        """What ``make`` returns for the id and the properties of each resource of a type, in the template's order.

        ``None`` is left out.

        Raises:
            TemplateError: a property is missing, has a wrong form or cannot be evaluated; names the resource.
        """
        found: dict[str, T] = {}
        for id in self._ids(type_):
            try:
                if (made := make(id, self.properties(id))) is not None:
                    found[id] = made
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                reason = f"{type(error).__name__}: {error}"
                raise TemplateError(f"{id} cannot be read ({reason}); see what is wrong with: make validate") from error
        return found

    def all(self, type_: str) -> Iterator[tuple[str, Properties]]:
        """The id and the properties of each resource of a type, in the template's order."""
        return iter(self.read(type_, lambda id, properties: (id, properties)).values())

    def properties(self, id: str) -> Properties:
        """The properties of a resource, evaluated."""
        if id not in self._evaluated:
            try:
                self._evaluated[id] = self.resolver.value(self.present[id].get("Properties") or {})
            except TemplateError as error:
                raise TemplateError(f"{id}: {error}") from None
        return self._evaluated[id]

    def value(self, id: str, attribute: str = "Ref") -> str:
        """The value of Ref, or of GetAtt, for a resource of this template."""
        node = {"Ref": id} if attribute == "Ref" else {"Fn::GetAtt": [id, attribute]}
        return as_text(self.resolver.value(node))

    def function_id(self, reference: str) -> str:
        """The logical id of the function that a name, an ARN, an alias' ARN or an invocation URI refers to.

        Raises:
            TemplateError: it is not a function of this template.
        """
        match = _FUNCTION_ARN.search(reference)
        name = match[1] if match else reference
        if name not in self._functions:
            raise TemplateError(f"{reference} is not a function of this template, so the local stage cannot run it")
        return self._functions[name]

    def id_of(self, type_: str, value: str, attribute: str = "Arn") -> str | None:
        """The logical id of the resource of a type whose attribute is ``value``."""
        return next((id for id in self._ids(type_) if self.value(id, attribute) == value), None)

    def _ids(self, type_: str) -> list[str]:
        """``Custom`` stands for every type of custom resource."""
        types = {id: one["Type"] for id, one in self.present.items()}
        return [id for id, one in types.items() if type_ in (one, one.partition("::")[0])]
