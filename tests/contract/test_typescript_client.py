"""The TypeScript client is built within its size, has the types of the descriptions, and keeps the rules."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from localstage.services.typescript_client import ensure_typescript_client
from tests.worlds.node import node

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client() -> Path:
    """The folder of the built client."""
    return asyncio.run(ensure_typescript_client(ROOT / ".local", ROOT))


def test_the_build_says_its_size(client: Path) -> None:
    found = re.search(r"compressed (\d+) of at most 10000", (client / "build" / "log").read_text())

    assert found is not None
    print(found[0])


def test_the_types_are_those_of_the_descriptions(client: Path) -> None:
    node("node_modules/typescript/bin/tsc", "--project", "tests", folder=client)


def test_the_client_keeps_the_rules(client: Path) -> None:
    printed = node("--test", "tests/unit/*.test.mjs", folder=client)

    assert "missing 0, repeated 0" in printed
    print(re.search("stored .*", printed)[0])  # type: ignore[index]
