"""A whole stage answers the examples of the API reference as documented."""

from __future__ import annotations

from typing import Any

from localstage.client.running_stage import StageUrls
from tests.e2e.conftest import RunningStage
from tests.e2e.test_dead_letters import discard_all
from tests.worlds.reference import answer_violations
from tools.api_reference.examples import Example, examples
from tools.api_reference.recording import record


def test_a_stage_answers_every_example_as_the_contract_says(platform: RunningStage) -> None:
    where = platform.where
    discard_all(platform)

    found = record(StageUrls(where["http_url"], where["websocket_url"], where["token_url"]))

    assert [comparable(each) for each in found] == [comparable(each) for each in examples()]
    assert {each.key: wrong for each in found if (wrong := answer_violations(each))} == {}


def comparable(example: Example) -> tuple[Any, ...]:
    """An answer without times and cursors, which differ between recordings."""
    answer = example.answer
    fields = sorted(answer) if isinstance(answer, dict) else type(answer).__name__
    code = answer["error"]["code"] if "error" in fields else None
    return example.key, example.name, example.status, fields, code
