"""Refuses calls that DynamoDB would refuse and an emulator may not: empty or long keys, and too long expressions.

Such a call is a mistake in our code. The values of clients are checked before, and their rows by
:func:`headrace.core.items.check`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headrace.core.keys import PARTITION_KEY_BYTES

EXPRESSION_BYTES = 4096
OPERATORS = 300
_OPERATOR = re.compile(r"[-+=,(]|[<>]=?|\b(?:AND|OR|NOT|BETWEEN|IN)\b", re.IGNORECASE)
"""What may be an operator or function: commas and parentheses are counted too, so never too few."""
_SHORTEST = 2 * OPERATORS
"""Characters that so many operators have at least, with their operands."""


def check_call(parameters: Mapping[str, Any]) -> None:
    """Check the parameters of a call.

    Raises:
        ValueError: DynamoDB would refuse them.
    """
    for name, value in parameters.items():
        if name.endswith("Expression"):
            _check_expression(name, value)
    if "KeyConditionExpression" in parameters:
        # Of a query, the values of a filter are numbers: all texts are those of keys.
        _check_keys(parameters["ExpressionAttributeValues"])
    for name in ("Key", "ExclusiveStartKey"):
        if name in parameters:
            _check_keys(parameters[name])


def _check_expression(name: str, expression: str) -> None:
    if len(expression) <= _SHORTEST:
        return
    if len(expression.encode()) > EXPRESSION_BYTES:
        raise ValueError(f"{name}: DynamoDB takes at most {EXPRESSION_BYTES} bytes")
    if len(_OPERATOR.findall(expression)) > OPERATORS:
        raise ValueError(f"{name}: DynamoDB takes at most {OPERATORS} operators and functions")


def _check_keys(values: Mapping[str, Mapping[str, Any]]) -> None:
    for name, value in values.items():
        text = value.get("S")
        if text == "":
            raise ValueError(f"{name}: DynamoDB takes no empty key")
        if text is not None and len(text) * 4 > PARTITION_KEY_BYTES and len(text.encode()) > PARTITION_KEY_BYTES:
            raise ValueError(f"{name}: DynamoDB takes keys of at most {PARTITION_KEY_BYTES} bytes")
