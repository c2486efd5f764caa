"""The examples of the API's contract, sent to a whole stage."""

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

    assert [said(each) for each in found] == [said(each) for each in examples()]
    assert {each.key: wrong for each in found if (wrong := answer_violations(each))} == {}


def said(example: Example) -> tuple[Any, ...]:
    """What two recordings of an example have in common: times and cursors differ."""
    answer = example.answer
    fields = sorted(answer) if isinstance(answer, dict) else type(answer).__name__
    code = answer["error"]["code"] if "error" in fields else None
    return example.key, example.name, example.status, fields, code
