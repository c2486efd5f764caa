"""P16: a replay finds the tables and the archive of a deployed stage, against moto."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from localstage.core.errors import StageError
from ops.replay import replay, variables_of
from tests.contract.ops.conftest import listed


def stack_of(plays: Callable[..., None], *functions: str) -> None:
    variables = {"ARCHIVE_BUCKET": "archive-1", "ROOMS_TABLE": "rooms-1"}
    plays(
        **listed(*(("AWS::Lambda::Function", name, f"headrace-{name}") for name in functions)),
        GetFunctionConfiguration=lambda path: {"Environment": {"Variables": {**variables, "FOR": path}}},
    )


def test_the_function_that_erases_says_where_everything_is(plays: Callable[..., None]) -> None:
    stack_of(plays, "ReadChat", "EraseUsers")

    found = variables_of("headrace-dev")

    assert (found["ARCHIVE_BUCKET"], found["ROOMS_TABLE"]) == ("archive-1", "rooms-1")
    assert "headrace-EraseUsers" in found["FOR"]


def test_another_stack_is_refused(plays: Callable[..., None]) -> None:
    stack_of(plays, "ReadChat")

    with pytest.raises(StageError, match="STACK: headrace-dev has no function EraseUsers"):
        variables_of("headrace-dev")


def test_a_stage_without_an_archive_is_refused() -> None:
    with pytest.raises(StageError, match="has no archive: deploy it with Archive=on, or give BUCKET"):
        replay({"ARCHIVE_BUCKET": ""}, None, ("chat",), "2026-11-01", "2026-11-02")
