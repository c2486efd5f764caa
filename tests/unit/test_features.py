"""A feature that is left out is not imported, and has no route, no row and no action; others stay as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from headrace.core.errors import ConfigurationError
from headrace.core.feature import Feature, chosen
from headrace.stage.chosen import FEATURES
from tests.worlds.functions import FUNCTIONS, ROOT

LOOK = """
import importlib.util, json, sys
from headrace.core.envelope import Envelope
from headrace.core.stream import TableSettings
from headrace.delivery.records import rows_of
found = {"routes": {}}
for function in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location(function, f"functions/{function}/app.py")
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    found["routes"][function] = list(getattr(app, "ROUTES", {}))
from headrace.stage import chosen, registry
found["actions"] = chosen.actions()
reaction = Envelope("chat", "c", "2026-01-01T00:00:00.000000Z", [{"change": "react"}])
(row,) = rows_of(reaction.encode(), {"chat": TableSettings(table="t")}).rows
found["reaction"] = row.poison.reason
found["kinds"] = list(registry.STREAMS["chat"].kinds)
found["modules"] = [name for name in sys.modules if name.startswith("headrace.features.")]
print(json.dumps(found))
"""


def look(features: str) -> dict[str, Any]:
    """What a stage with these features has."""
    environ = {"PYTHONPATH": str(ROOT / "layers" / "headrace"), "PATH": os.environ["PATH"]}
    environ |= {"STAGE_FEATURES": features, "AWS_DEFAULT_REGION": "us-east-1"}
    environ |= dict.fromkeys(("ROOMS_TABLE", "MEMBERSHIPS_TABLE", "CHAT_MESSAGES_TABLE"), "t")
    command = [sys.executable, "-c", LOOK, *FUNCTIONS]
    done = subprocess.run(command, env=environ, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return look("all")


@pytest.mark.parametrize("left_out", ["reactions", "edits"])
def test_a_feature_that_is_left_out_leaves_nothing_of_it(left_out: str, whole: dict[str, Any]) -> None:
    gone = {left_out, *(each.name for each in FEATURES if left_out in each.needs)}
    others = [each.name for each in FEATURES if each.name not in gone]

    found = look(",".join(others) or "none")

    prefixes = tuple(f"headrace.features.{name}." for name in gone)
    assert [name for name in found["modules"] if name.startswith(prefixes)] == []
    for function, routes in whole["routes"].items():
        lost = {key for key in routes if key not in found["routes"][function]}
        assert lost == {key for name in gone for key in declared(name, function)}, function
    assert set(whole["actions"]) - set(found["actions"]) == {
        action for each in FEATURES if each.name in gone for action in each.actions
    }
    assert (found["reaction"], whole["reaction"]) == ("unknown_kind", "missing_field")
    assert set(found["kinds"]) == {"edit", "delete"} - ({"edit", "delete"} if "edits" in gone else set())


def declared(feature: str, function: str) -> set[str]:
    """The routes that a feature has in a function."""
    (found,) = (each for each in FEATURES if each.name == feature)
    if function not in found.routes:
        return set()
    module = __import__(f"headrace.features.{feature}.{found.routes[function]}", fromlist=["ROUTES"])
    return set(module.ROUTES[function])


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["editz"], "there is no feature 'editz'; Features must be all, none, or a comma list of edits, reactions"),
        (["reactions"], "Features has reactions without edits, which it needs"),
        (
            ["all", "edits"],
            "there is no feature 'all'; Features must be all, none, or a comma list of edits, reactions",
        ),
    ],
)
def test_a_wrong_choice_of_features_is_an_error_at_start(names: list[str], problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen(FEATURES, names)

    assert str(caught.value) == problem


def test_two_features_of_one_name_or_prefix_are_an_error_at_start() -> None:
    with pytest.raises(ConfigurationError, match="two features have one name: edits, edits"):
        chosen([Feature(name="edits"), Feature(name="edits")], ["all"])
    with pytest.raises(ConfigurationError, match="two features have one prefix: #pins#, #pins#"):
        chosen([Feature(name=name, prefixes=("#pins#",)) for name in ("pins", "stars")], ["all"])


def test_features_come_in_the_order_of_their_hooks_whatever_the_order_of_their_names() -> None:
    assert chosen(FEATURES, ["reactions", "edits"]) == FEATURES
    assert chosen(FEATURES, ["none"]) == ()
