"""The schemas of both API documents compile in validators that clients use, which are stricter than Python's ``re``."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator

from localstage.services.install import ensure_node_packages
from tests.worlds.node import node
from tests.worlds.reference import schemas

ROOT = Path(__file__).parents[3]
NODE = Path(__file__).parent / "node"
SCHEMAS = schemas()
ESCAPED_QUOTE = {"type": "string", "pattern": r"^[ \"]+$"}
"""Ajv compiles patterns with the flag ``u``, as JSON Schema recommends, and then this escape is an error."""


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder of npm's packages. Without Node or npm, the error says so in a sentence."""
    return asyncio.run(ensure_node_packages(ROOT / ".local", NODE, "ajv", "Ajv"))


def test_all_schemas_compile_in_ajv(packages: Path) -> None:
    given = json.dumps({**SCHEMAS, "an escaped quote": ESCAPED_QUOTE})

    wrong = json.loads(node(NODE / "compile.mjs", packages.parent, given=given))

    assert "Invalid escape" in wrong.pop("an escaped quote")
    assert wrong == {}


def test_all_schemas_compile_in_the_validators_of_python() -> None:
    assert len(SCHEMAS) > 100
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        assert jsonschema_rs.Draft202012Validator(schema), name
