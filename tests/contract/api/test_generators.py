"""Generators make types of both API documents that an app compiles with in strict mode, and uses.

``generators/app.ts`` is a page of such an app. It reads the answers and frames that were recorded from a stage.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from localstage.services.install import ensure_node_packages
from tests.worlds.node import node
from tools.api_reference.examples import examples

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
SOURCES = Path(__file__).parent / "generators"
DOCUMENTS = ROOT / "docs" / "reference"
STRICT = ["--strict", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node10"]


def packages(source: Path, name: str) -> Path:
    return asyncio.run(ensure_node_packages(ROOT / ".local", source, name, f"the packages of {source.name}"))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the generated types and the compiled app."""
    tools = packages(ROOT / "clients" / "typescript", "typescript-client")
    generators = packages(SOURCES, "generators")
    folder = tmp_path_factory.mktemp("app")
    models = json.loads(node(SOURCES / "generate.mjs", tools.parent, generators.parent, DOCUMENTS, folder))
    assert {"ClientFrame", "ServerFrame", "Messages", "SubscribeFrame", "Error"} <= set(models)
    assert not [each for each in models if "Anonymous" in each]
    shutil.copy(SOURCES / "app.ts", folder)
    node(tools / "typescript" / "bin" / "tsc", *STRICT, "--outDir", folder, folder / "app.ts")
    return folder / "app.js"


def result_of(app: Path, function: str, values: list[Any]) -> list[Any]:
    """What a function of the app returns for each of the values."""
    script = f"""
        const app = require({json.dumps(str(app))});
        const values = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
        console.log(JSON.stringify(values.map((each) => app[{json.dumps(function)}](each))));
    """
    found: list[Any] = json.loads(node("--eval", script, given=json.dumps(values)))
    return found


def test_an_app_with_generated_types_reads_every_frame_that_was_recorded(app: Path) -> None:
    frames = [each.answer for each in examples() if " " not in each.key]

    shown = set(zip([each["type"] for each in frames], result_of(app, "shown", frames), strict=True))

    assert len({kind for kind, _ in shown}) > 10
    for kind, form in {
        "messages": r"\d+ new in kitchen",
        "signal": r"\w+ is typing",
        "resumed": r"kitchen: \d+.*",
        "acks": r".* waits in main since \d{4}-.*Z.*",
        "error": r"\w+, field \w+",
        "pong": r"the server's time is \d{4}-.*Z",
    }.items():
        assert any(re.fullmatch(form, text) for of, text in shown if of == kind), (kind, shown)


def test_an_app_with_generated_types_tells_accepted_from_refused_messages(app: Path) -> None:
    answers = [each.answer for each in examples() if each.key == "POST /messages/batch" and "results" in each.answer]

    said = result_of(app, "outcome", [result for answer in answers for result in answer["results"]])

    assert any("waits in main" in each for each in said)
    assert any("is refused: invalid_event" in each for each in said)


def test_an_app_with_generated_types_walks_pages_and_follows_its_rooms(app: Path) -> None:
    pages = [each.answer for each in examples() if each.key == "GET /rooms/{roomId}/messages" and each.status == 200]
    (rooms,) = [each.answer for each in examples() if each.key == "GET /users/{userId}/rooms" and each.status == 200]

    wanted = [{"before": each["next"], "limit": 50} if each["hasMore"] else None for each in pages]
    assert result_of(app, "older", pages) == wanted
    assert any(wanted)
    frames = result_of(app, "follow", [rooms])[0]
    assert [each["roomId"] for each in frames] == [each["roomId"] for each in rooms["items"]]
