"""P15: an erasure pauses until what was on its way is stored and archived."""

from pathlib import Path

import pytest

from headrace.delivery.persister import TRY_MARGIN
from headrace.features.people.erasure.eraser import rounds_of
from localstage.template import Attributes, load
from tests.unit.localstage.template.template_stage import LIVE
from tests.unit.template_stack import TEMPLATE, TemplateStack

WAITED_FOR = {
    "ERASURE_AGE_SECONDS": "ErasureAgeSeconds",
    "PERSIST_TIMEOUT_SECONDS": "PersistTimeoutSeconds",
    "ARCHIVE_WINDOW_SECONDS": "ArchiveWindowSeconds",
}


@pytest.mark.parametrize(
    ("age", "storing", "window", "pauses"), [(60, 60, 60, (150, 180)), (2, 15, 3, (18, 9)), (3, 15, 2, (19, 6))]
)
def test_pauses_are_longer_than_what_they_wait_for(
    age: int, storing: int, window: int, pauses: tuple[int, int]
) -> None:
    (_, first), (_, second), (_, third) = rounds_of([], [], age, storing, window)

    assert (first, second, third) == (0, *pauses)
    assert second > age + storing
    assert third > window


def test_an_erasure_has_the_parameters_of_what_it_waits_for(template_stack: TemplateStack) -> None:
    mappings = template_stack.of_type("AWS::Lambda::EventSourceMapping").values()
    windows = [
        one["MaximumBatchingWindowInSeconds"] for one in mappings if one["FunctionName"] == {"Ref": "ArchiveEvents"}
    ]
    given = {name: template_stack.value_of("EraseUsers", name) for name in WAITED_FOR}

    assert given == {name: {"Ref": parameter} for name, parameter in WAITED_FOR.items()}
    assert template_stack.value_of("PersistEvents", "ERASURE_AGE_SECONDS") == given["ERASURE_AGE_SECONDS"]
    assert template_stack.resources["PersistEvents"]["Properties"]["Timeout"] == given["PERSIST_TIMEOUT_SECONDS"]
    assert windows == [given["ARCHIVE_WINDOW_SECONDS"]] * 7


def test_the_time_limit_of_storing_leaves_time_for_a_silent_service(template_stack: TemplateStack) -> None:
    assert template_stack.parameters["PersistTimeoutSeconds"]["MinValue"] > TRY_MARGIN


def test_the_local_stage_ends_storing_when_an_erasure_goes_on(tmp_path: Path) -> None:
    functions = load(TEMPLATE, attributes=Attributes(LIVE), state_dir=tmp_path).functions
    known = [int(functions["EraseUsers"].environment[name]) for name in WAITED_FOR]

    assert functions["PersistEvents"].timeout == known[1]
    assert [pause for _, pause in rounds_of([], [], *known)] == [0, 18, 9]
