"""Reads the widgets of the dashboard from its template.

The syntax is that of "Dashboard Body Structure and Syntax" and "Metric math search expressions" of the CloudWatch
documentation, as far as the template uses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localstage.template.document import parse

TEMPLATE = Path(__file__).parents[2] / "templates" / "dashboard.yaml"
SERVICE = "headrace-local"
"""The stack name of the local stage."""

_SEARCH = re.compile(
    r"(?P<sum>SUM\()?SEARCH\('\{(?P<schema>[^}]+)\} (?P<terms>[^']+)', '(?P<statistic>\w+)', (?P<period>\d+)\)"
    r"(?(sum)\))(?:/(?P<divisor>\d+))?"
)
_TERM = re.compile(r'(\w+)="([^"]*)"|(\S+)')


@dataclass(frozen=True)
class Selection:
    """The metrics of one line of a widget, and what is shown of them.

    ``dimensions`` are the names that a metric has, ``equal`` the values that some of them must have, and ``contained``
    a text that a value must contain. ``total``: the values of all metrics are added up. ``period`` is in seconds.
    """

    namespace: str
    name: str
    dimensions: frozenset[str]
    equal: Mapping[str, str]
    statistic: str
    period: int
    label: str
    contained: str = ""
    total: bool = False
    divisor: float = 1

    def matches(self, namespace: str, name: str, dimensions: Mapping[str, str]) -> bool:
        """Whether the line shows this metric."""
        return (
            (namespace, name, frozenset(dimensions)) == (self.namespace, self.name, self.dimensions)
            and all(dimensions[each] == value for each, value in self.equal.items())
            and any(self.contained in value for value in dimensions.values())
        )


@dataclass(frozen=True)
class Widget:
    """One chart; position and size in the units of the dashboard, whose width is 24."""

    title: str
    x: int
    y: int
    width: int
    height: int
    unit: str
    lines: Sequence[Selection]


def widgets(template: Path = TEMPLATE) -> list[Widget]:
    """The widgets of the dashboard; each reference to a parameter is the parameter's name, or :data:`SERVICE`.

    Raises:
        ValueError: an expression has a form that this module does not know.
    """
    body = parse(template.read_text(), template)["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    body = re.sub(r"\$\{([^}]+)\}", r"\1", body.replace("${ServiceName}", SERVICE))
    return [_widget(each) for each in json.loads(body)["widgets"]]


def _widget(given: Mapping[str, Any]) -> Widget:
    properties = given["properties"]
    place = {name: given[name] for name in ("x", "y", "width", "height")}
    lines = tuple(_selection(each, properties["period"]) for each in properties["metrics"])
    return Widget(properties["title"], unit=properties["yAxis"]["left"]["label"], lines=lines, **place)


def _selection(metric: Sequence[Any], period: int) -> Selection:
    *names, shown = metric
    if "expression" in shown:
        return _search(shown["expression"], shown["label"])
    namespace, name, *pairs = names
    equal = dict(zip(pairs[::2], pairs[1::2], strict=True))
    period = shown.get("period", period)
    return Selection(namespace, name, frozenset(equal), equal, shown["stat"], period, shown["label"])


def _search(expression: str, label: str) -> Selection:
    found = _SEARCH.fullmatch(expression)
    if found is None:
        raise ValueError(f"{expression!r} is not SEARCH('{{Namespace,Dimension}} MetricName=\"…\"', 'Sum', 60)")
    namespace, *dimensions = found["schema"].split(",")
    equal, contained = dict[str, str](), ""
    for name, value, word in _terms(found["terms"]):
        equal |= {name: value} if name else {}
        contained = word or contained
    metric = equal.pop("MetricName")
    return Selection(
        namespace, metric, frozenset(dimensions), equal, found["statistic"], int(found["period"]), label,
        contained, found["sum"] is not None, float(found["divisor"] or 1),
    )  # fmt: skip


def _terms(text: str) -> Iterator[tuple[str, str, str]]:
    for match in _TERM.finditer(text):
        yield match[1] or "", match[2] or "", match[3] or ""
