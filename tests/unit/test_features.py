"""A feature that is left out is not imported, and has no route, no row and no action; others stay as they are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.core.errors import ConfigurationError
from headrace.core.feature import Feature, chosen
from headrace.stage import registry
from headrace.stage.chosen import FEATURES, module, parts
from tests.worlds.functions import FUNCTIONS, ROOT

CHANGES = list(registry.STREAMS["chat"].kinds)
FIELDS = [name for each in FEATURES for name in each.fields]
LOOK = """
import importlib.util, json, sys
from headrace.core.sender import SenderContext
from headrace.core.envelope import Envelope
from headrace.core.stream import TableSettings
from headrace.delivery.records import rows_of
functions, kinds, fields = map(json.loads, sys.argv[1:])
from headrace.stage import chosen, registry
found = {"routes": {}}
left_out = {each for feature in chosen.FEATURES if feature not in chosen.CHOSEN for each in feature.functions}
for function in functions:
    if function in left_out:
        continue
    spec = importlib.util.spec_from_file_location(function, f"functions/{function}/app.py")
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    routes = getattr(app, "ROUTES", {})
    found["routes"][function] = {key: [*each.body.model_fields] if each.body else [] for key, each in routes.items()}
found["actions"] = chosen.actions()
def rows(events):
    envelope = Envelope("chat", "c", "2026-01-01T00:00:00.000000Z", events)
    return rows_of(envelope.encode(), {"chat": TableSettings(table="t")}).rows
found["streams"] = list(registry.STREAMS)
found["kinds"] = [row.event["change"] for row in rows([{"change": kind} for kind in kinds])
                  if row.poison.reason != "unknown_kind"]
chat = registry.STREAMS["chat"]
plain = chat.accept({"roomId": "r", "message": "m"}, SenderContext("u", "u", False, 0)).event
found["fields"] = [name for name, row in zip(fields, rows([plain | {name: 1} for name in fields]))
                   if row.poison.reason != "unknown_kind"]
found["sent"] = list(chat.incoming.model_fields)
found["modules"] = [name for name in sys.modules if name.startswith("headrace.features.")]
from headrace.features.archive.archiver import archived
from headrace.features.tell.told import tells
found["followed"] = [*tells(), *sorted(table.name for table in archived().values())]
print(json.dumps(found))
"""


FIND = """
from headrace.stage import registry
from headrace.features.people import erasures
erasures.erased = lambda stream, events: {events.index("of an erased user")}
print(registry.CHOSEN, registry.erased(None, ["of a user", "of an erased user"]))
"""


def look(features: str) -> dict[str, Any]:
    """What a stage with these features has."""
    found: dict[str, Any] = json.loads(run(features, LOOK, *map(json.dumps, (FUNCTIONS, CHANGES, FIELDS))))
    return found


def run(features: str, code: str, *arguments: str) -> str:
    """The last line that code prints on a stage with these features."""
    environ = {"PYTHONPATH": str(ROOT / "layers" / "headrace"), "PATH": os.environ["PATH"]}
    environ |= {"STAGE_FEATURES": features, "AWS_DEFAULT_REGION": "us-east-1"}
    environ |= dict.fromkeys(("ROOMS_TABLE", "MEMBERSHIPS_TABLE", "CHAT_MESSAGES_TABLE"), "t")
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environ, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return look("all")


@pytest.mark.parametrize("left_out", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_that_is_left_out_leaves_nothing_of_it(left_out: Feature, whole: dict[str, Any]) -> None:
    gone = [each for each in FEATURES if each is left_out or left_out.name in each.needs]

    found = look(",".join(each.name for each in FEATURES if each not in gone) or "none")

    def lost(what: str) -> set[str]:
        return {*whole[what]} - {*found[what]}

    prefixes = tuple(f"headrace.features.{each.name}." for each in gone)
    assert [name for name in found["modules"] if name.startswith(prefixes)] == []
    assert {*whole["routes"]} - {*found["routes"]} == {function for each in gone for function in each.functions}
    for function, routes in found["routes"].items():
        left = {key for each in gone for key in declared(each, function)}
        # Gone, or with fewer fields.
        assert {key for key, fields in whole["routes"][function].items() if routes.get(key) != fields} == left, function
    assert lost("actions") == {action for each in gone for action in each.actions}
    assert lost("streams") == {stream.name for stream in parts("STREAM", gone)}
    assert lost("fields") == lost("sent") == {name for each in gone for name in each.fields}
    assert lost("kinds") == {kind for kinds in parts("KINDS", gone) for kind in kinds}
    assert found["followed"] == whole["followed"], "rows of what is left out are still erased"


def declared(feature: Feature, function: str) -> set[str]:
    """The routes that a feature has in a function."""
    if function not in feature.routes:
        return set()
    return {*module(feature, feature.routes[function]).ROUTES[function]}


def test_events_of_erased_people_are_found_while_every_feature_is_left_out() -> None:
    assert run("none", FIND) == "() {1}"


TWO = (Feature(name="edits"), Feature(name="reactions", needs=("edits",)))
FORM = "Features must be all, none, or a comma list of edits, reactions"


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["editz"], f"there is no feature 'editz'; {FORM}"),
        (["reactions"], "Features has reactions without edits, which it needs"),
        (["all", "edits"], f"there is no feature 'all'; {FORM}"),
    ],
)
def test_a_wrong_choice_of_features_is_an_error_at_start(names: list[str], problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen(TWO, names)

    assert str(caught.value) == problem


def test_every_part_of_a_feature_is_one_that_the_stage_asks_for() -> None:
    code = "".join(path.read_text() for path in Path(registry.__file__).parents[1].rglob("*.py"))

    asked = re.findall(r'\b(?:parts|made|_only)(?:[([]|, )"(\w+)"', code)
    assert {part for each in FEATURES for part in each.parts} == {*asked}


def test_two_features_of_one_name_or_prefix_are_an_error_at_start() -> None:
    with pytest.raises(ConfigurationError, match="two features have one name: edits, edits"):
        chosen([Feature(name="edits"), Feature(name="edits")], ["all"])
    with pytest.raises(ConfigurationError, match="two features have one prefix: #pins#, #pins#"):
        chosen([Feature(name=name, prefixes=("#pins#",)) for name in ("pins", "stars")], ["all"])


def test_features_come_in_the_order_of_their_hooks_whatever_the_order_of_their_names() -> None:
    assert chosen(TWO, ["reactions", "edits"]) == TWO
    assert chosen(TWO, ["none"]) == ()
