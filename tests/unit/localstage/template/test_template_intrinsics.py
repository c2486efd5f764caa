"""CloudFormation's intrinsic functions and conditions are evaluated as CloudFormation does."""

import pytest

from localstage.core.errors import TemplateError
from tests.unit.localstage.template.template_stage import LIVE, TABLE

BROKER = """
Keys:
  Type: AWS::SecretsManager::Secret
  Properties:
    SecretString: '{"username": "ann", "password": "s3cret"}'
Rabbit:
  Type: AWS::AmazonMQ::Broker
  Properties:
    BrokerName: rabbit
    EngineType: RABBITMQ
    Users:
      - Username: !Sub "{{resolve:secretsmanager:${Keys}:SecretString:username}}"
        Password: !Sub "{{resolve:secretsmanager:${Keys}:SecretString:password}}"
"""


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
        ("!GetAtt Things.Arn", "arn:aws:dynamodb:us-east-1:123456789012:table/headrace-local-Things"),
        ("{'Fn::GetAtt': [Things, Arn]}", "arn:aws:dynamodb:us-east-1:123456789012:table/headrace-local-Things"),
        ("true", "true"),
        ("5", "5"),
    ],
)
def test_an_intrinsic_in_a_variable_becomes_cloudformations_text(project, expression, value):
    head = """
        Conditions: {Holds: !Equals [a, a], Fails: !Not [!Condition Holds]}
    """

    assert project.variables(f"IT: {expression}", head=head, resources=TABLE) == {"IT": value}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("!Condition Other", True),
        ("!Not [!Not [!Equals [!Ref Size, small]]]", False),
        ("!And [!Condition Other, !Equals [!Ref Size, big]]", True),
        ("!And [!Condition Other, !Equals [!Ref Size, small]]", False),
        ("!Equals [true, 'true']", True),
    ],
)
def test_conditions_nest_and_decide_what_is_there(project, condition, holds):
    head = f"""
        Parameters: {{Size: {{Type: String, Default: big}}}}
        Conditions:
          Other: !Equals [!Sub "${{Size}}!", "big!"]
          It: {condition}
    """
    model = project.load(TABLE.replace("Properties:", "Condition: It\n  Properties:"), head=head)

    assert ("Things" in model.tables) is holds


def test_only_a_declared_endpoint_variable_gets_the_stages_url(project):
    found = project.variables("AWS_ENDPOINT_URL_DYNAMODB: ''", "AWS_ENDPOINT_URL_SQS: https://example.org")

    assert found == {"AWS_ENDPOINT_URL_DYNAMODB": LIVE.dynamodb_url, "AWS_ENDPOINT_URL_SQS": LIVE.sqs_url}


def test_a_dynamic_reference_reads_the_stages_own_secret(project):
    broker = project.load(BROKER).brokers["Rabbit"]

    assert (broker.username, broker.password) == ("ann", "s3cret")
    assert "s3cret" not in repr(broker)


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


@pytest.mark.parametrize(("mode", "rules"), [("on", 1), ("off", 0)])
def test_a_bucket_has_its_cors_rules_as_s3_names_them(project, mode, rules):
    head = f"""
        Parameters:
          Origins: {{Type: CommaDelimitedList, Default: "https://a.example,https://b.example"}}
        Conditions:
          WithRules: !Equals ["{mode}", "on"]
    """
    model = project.load(
        """
        Files:
          Type: AWS::S3::Bucket
          Properties:
            CorsConfiguration: !If
              - WithRules
              - CorsRules:
                  - {Id: upload, AllowedMethods: [GET, PUT], AllowedOrigins: !Ref Origins, AllowedHeaders: ["*"],
                     ExposedHeaders: [ETag], MaxAge: 3600}
              - !Ref AWS::NoValue
        """,
        head=head,
    )

    rule = {
        "ID": "upload",
        "AllowedMethods": ["GET", "PUT"],
        "AllowedOrigins": ["https://a.example", "https://b.example"],
        "AllowedHeaders": ["*"],
        "ExposeHeaders": ["ETag"],
        "MaxAgeSeconds": 3600,
    }
    assert model.buckets["Files"].cors_rules == [rule][:rules]
