"""CloudFormation's intrinsic functions and conditions are evaluated as CloudFormation does."""

import pytest

from localstage.core.errors import TemplateError
from tests.unit.localstage.template.template_stage import LIVE, TABLE


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("!Sub '${AWS::Partition}/${AWS::Region}/${AWS::AccountId}'", "aws/us-east-1/123456789012"),
        ("!Ref AWS::StackName", "headrace-local"),
        ("!Sub 'in.${AWS::URLSuffix}'", "in.amazonaws.com"),
        ("!Sub ['${Who}-${Things}', {Who: !Select [1, [a, b]]}]", "b-headrace-local-Things"),
        ("!Join ['-', [a, !Select [0, !Split [',', 'b,c']], 1]]", "a-b-1"),
        ("!Join ['-', [a, !Ref AWS::NoValue, b]]", "a-b"),
        ("!If [Holds, !If [Fails, a, b], c]", "b"),
        ("!If [Both, a, b]", "a"),
        ("!GetAtt Things.Arn", "arn:aws:dynamodb:us-east-1:123456789012:table/headrace-local-Things"),
        ("{'Fn::GetAtt': [Things, Arn]}", "arn:aws:dynamodb:us-east-1:123456789012:table/headrace-local-Things"),
        ("true", "true"),
        ("5", "5"),
    ],
)
def test_an_intrinsic_in_a_variable_becomes_cloudformations_text(project, expression, value):
    head = """
        Conditions:
          Holds: !Equals [true, 'true']
          Fails: !Not [!Condition Holds]
          Both: !And [!Condition Holds, !Not [!Condition Fails]]
    """

    assert project.variables(f"IT: {expression}", head=head, resources=TABLE) == {"IT": value}


def test_only_a_declared_endpoint_variable_gets_the_stages_url(project):
    found = project.variables("AWS_ENDPOINT_URL_DYNAMODB: ''", "AWS_ENDPOINT_URL_SQS: https://example.org")

    assert found == {"AWS_ENDPOINT_URL_DYNAMODB": LIVE.dynamodb_url, "AWS_ENDPOINT_URL_SQS": LIVE.sqs_url}


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("!Ref Missing", 'Echo: "Missing" is neither a parameter nor a resource'),
        ("!Sub 'x${Missing.Arn}'", '"Missing" is neither'),
        ("!If [Perhaps, a, b]", "no condition Perhaps"),
        ("!GetAtt Echo.SnapStart", "the local stage knows Ref, Arn of AWS::Lambda::Function"),
        ("!ImportValue other-stack", "cannot evaluate Fn::ImportValue"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_with_its_place(project, expression, complaint):
    with pytest.raises(TemplateError, match=r"^Echo") as refusal:
        project.variables(f"IT: {expression}")

    assert complaint in str(refusal.value)
