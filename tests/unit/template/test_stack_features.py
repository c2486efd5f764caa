"""What of a stage depends on its features: functions and rights."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.core.feature import Feature
from headrace.stage.chosen import FEATURES
from localstage.template import Attributes, parameters
from localstage.template.intrinsics import Resolver
from localstage.template.resources import Stack
from tests.unit.localstage.template.template_stage import LIVE
from tests.unit.template_stack import CONDITIONS, ROOT, TEMPLATE, TemplateStack

KEPT = {"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::SecretsManager::Secret"}


def with_features(template: TemplateStack, features: Sequence[Feature]) -> Stack:
    given = {"Features": ",".join(each.name for each in features) or "none"}
    values = parameters.values(template.document["Parameters"], given)
    return Stack(template.document, Resolver(template.document, values, Attributes(LIVE), "us-east-1"))


@pytest.mark.parametrize("left_out", FEATURES, ids=lambda feature: feature.name)
def test_the_functions_of_a_feature_are_deployed_only_with_it(left_out: Feature, template_stack: TemplateStack) -> None:
    gone = [each for each in FEATURES if each is left_out or left_out.name in each.needs]
    left = with_features(template_stack, [each for each in FEATURES if each not in gone])

    lost = with_features(template_stack, FEATURES).present.keys() - left.present.keys()

    functions = {template_stack.folders[each] for each in lost if each in template_stack.folders}
    assert functions == {function for each in gone for function in each.functions}


def test_a_stage_without_features_has_few_functions_and_every_table_queue_and_bucket(
    template_stack: TemplateStack,
) -> None:
    whole, core = with_features(template_stack, FEATURES).present, with_features(template_stack, []).present

    assert len(core.keys() & template_stack.folders) <= 14
    assert [id for id in whole.keys() - core.keys() if whole[id]["Type"] in KEPT] == []


def test_the_functions_of_the_core_have_no_right_that_only_a_feature_needs(template_stack: TemplateStack) -> None:
    stack = with_features(template_stack, [])
    rights = "".join(str(role) for _, role in stack.all("AWS::IAM::Role"))

    tables = [stack.value(each, "Arn") for each in ("AdClicksTable", "DeclaredTable", "LiftRidesTable", "ResortsTable")]
    assert [each for each in (*tables, stack.value("AddressSecret")) if each in rights] == []
    assert stack.value("ChatMessagesTable", "Arn") in rights


def test_each_feature_with_functions_has_a_condition_that_no_other_name_turns_on(template_stack: TemplateStack) -> None:
    names = [each.name for each in FEATURES]

    assert {name for name, one in template_stack.conditions.items() if "Fn::Split" in str(one)} == CONDITIONS
    assert [(one, other) for one in names for other in names if one in other and one != other] == []


def test_the_templates_stay_short_enough_to_be_read() -> None:
    paths = [TEMPLATE, *(ROOT / "templates").glob("*.yaml")]

    assert sum(len(path.read_text().splitlines()) for path in paths) <= 5_000
