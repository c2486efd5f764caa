"""What of a stage depends on its features: functions, mappings, rights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headrace.core.feature import Feature
from headrace.stage.chosen import FEATURES
from localstage.template import Attributes, parameters
from localstage.template.intrinsics import Resolver
from localstage.template.resources import Stack
from tests.unit.localstage.template.template_stage import LIVE
from tests.unit.template_stack import CONDITIONS, ROOT, TEMPLATE, TemplateStack

StackWith = Callable[[Sequence[Feature]], Stack]
KEPT = {"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::SecretsManager::Secret"}


@pytest.fixture
def stack_with(template_stack: TemplateStack) -> StackWith:
    """The resources of a stack with some features."""
    document = template_stack.document

    def stack(features: Sequence[Feature]) -> Stack:
        given = {"Features": ",".join(each.name for each in features) or "none"}
        given = parameters.values(document["Parameters"], given)
        return Stack(document, Resolver(document, given, Attributes(LIVE), "us-east-1"))

    return stack


@pytest.mark.parametrize("left_out", FEATURES, ids=lambda feature: feature.name)
def test_the_functions_of_a_feature_are_deployed_only_with_it(
    left_out: Feature, stack_with: StackWith, template_stack: TemplateStack
) -> None:
    gone = [each for each in FEATURES if each is left_out or left_out.name in each.needs]

    lost = (
        stack_with(FEATURES).present.keys() - stack_with([each for each in FEATURES if each not in gone]).present.keys()
    )

    functions = {template_stack.folders[each] for each in lost if each in template_stack.folders}
    assert functions == {function for each in gone for function in each.functions}


def test_a_stage_without_features_has_few_functions_and_every_table_queue_and_bucket(
    stack_with: StackWith, template_stack: TemplateStack
) -> None:
    whole, core = stack_with(FEATURES).present, stack_with([]).present

    assert len(core.keys() & template_stack.folders) <= 14
    assert [id for id in whole.keys() - core.keys() if whole[id]["Type"] in KEPT] == []


def test_each_feature_with_functions_has_a_condition_that_no_other_name_turns_on(template_stack: TemplateStack) -> None:
    declared = template_stack.conditions.keys()
    assert {
        name for name in declared if name.startswith("Has") and "Split" in str(template_stack.conditions[name])
    } == CONDITIONS
    names = [each.name for each in FEATURES]
    assert [(one, other) for one in names for other in names if one in other and one != other] == []


def test_the_templates_stay_short_enough_to_be_read() -> None:
    paths = [TEMPLATE, *(ROOT / "templates").glob("*.yaml")]

    assert sum(len(path.read_text().splitlines()) for path in paths) <= 5_000
