"""An invalid template is refused with the place of the error, and ignored resources are reported."""

import logging
import re

import pytest

from localstage.core.errors import StageError, TemplateError
from localstage.template import Attributes, load
from localstage.template.atomic_write import write_atomically
from tests.unit.localstage.template.template_stage import FUNCTION, LIVE, Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_missing_template_is_one_sentence(tmp_path):
    with pytest.raises(TemplateError, match=r"template\.yaml: no such file"):
        load(tmp_path / "template.yaml", attributes=Attributes(LIVE))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Resources:\n  A: [1, 2\n  B: 3\n", r"template\.yaml, line 3: expected ',' or '\]'"),
        ("Resources:\n  A: {Type: X}\nResources:\n  B: {Type: X}\n", r'line 3: "Resources" is declared twice'),
        ("Resources:\n\tA: {Type: X}\n", r"line 2: found character '\\t'"),
        ("just text", "not a template, it has no Resources"),
        ("Resources: {}", "not a template, it has no Resources"),
        ("Resources: {A: {Properties: {}}}", "A has no Type"),
        ("Resources: {A: {Type: X, Properties: [1]}}", "A.Properties must be a mapping"),
        ("Resources: {A: {Type: AWS::Serverless::Function}}", "Transform: AWS::Serverless-2016-10-31"),
    ],
)
def test_a_file_that_is_no_template_is_refused_with_its_line(project, text, complaint):
    with pytest.raises(TemplateError, match=complaint):
        project.load_text(text)


@pytest.mark.parametrize(
    ("wrong", "right", "complaint"),
    [
        ("code/", "nowhere/", r"Echo\.CodeUri: nowhere/ is not a folder"),
        ("code/", "s3://bucket/key", r"Echo\.CodeUri: must be a folder of this project"),
        ("app.handler", "main.handler", r'Echo\.Handler: "main\.handler" needs main\.py'),
        ("app.handler", "app", r'Echo\.Handler: got "app", must be file\.function'),
        ("python3.13", "nodejs22.x", r"Echo\.Runtime: the local stage runs Python functions, not nodejs22\.x"),
        ("Handler:", "Timeout: 901\n      Handler:", r'Echo\.Timeout: got "901", must be from 1 to 900'),
        ("Handler:", "MemorySize: much\n      Handler:", r'Echo\.MemorySize: got "much", must be a whole number'),
        ("Handler:", "Hnadler:", r"template\.yaml: \[Echo\]: property Hnadler not defined"),
    ],
)
def test_a_function_that_cannot_run_is_refused_with_the_property(project, wrong, right, complaint):
    with pytest.raises(TemplateError, match=complaint):
        project.load("", function=FUNCTION.replace(wrong, right))


def test_every_error_of_the_translator_is_a_line(project):
    function = FUNCTION.rstrip() + "\n      Events: {It: {Type: Nonsense}}\n"
    with pytest.raises(TemplateError) as refusal:
        project.load("Api: {Type: AWS::Serverless::WebSocketApi, Properties: {}}", function=function)

    lines = str(refusal.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("template.yaml: [") for line in lines)


def test_a_layer_that_is_not_in_the_template_is_named_in_a_warning(project, caplog):
    function = FUNCTION.rstrip() + "\n      Layers: ['arn:aws:lambda:us-east-1:017000801446:layer:Powertools:1']\n"
    with caplog.at_level(logging.WARNING, "localstage.template"):
        model = project.load("", function=function)

    assert model.functions["Echo"].layers == ()
    assert "layer:Powertools:1 is not a layer of this template" in caplog.text


def test_ignored_resources_are_listed_and_missing_ones_are_warnings(project, caplog):
    resources = """
    Net: {Type: AWS::EC2::VPC}
    Logs: {Type: AWS::Logs::LogGroup}
    Topic: {Type: AWS::SNS::Topic}
    """
    with caplog.at_level(logging.DEBUG, "localstage.template"):
        project.load(resources)

    ours = [record for record in caplog.records if record.name == "localstage.template"]
    assert [(record.levelname, record.getMessage()) for record in ours] == [
        ("WARNING", "Topic is not run: the local stage has no AWS::SNS::Topic"),
        (
            "DEBUG",
            "resource types that the local stage does not run: AWS::EC2::VPC, AWS::IAM::Role, AWS::Logs::LogGroup",
        ),
    ]


@pytest.mark.parametrize(
    ("resource", "complaint"),
    [
        (
            "{Type: AWS::DynamoDB::Table, Properties: {BillingMode: PAY_PER_REQUEST, AttributeDefinitions: [], "
            "KeySchema: [{AttributeName: id, KeyType: HASH}]}}",
            "It.AttributeDefinitions: id is a key and not defined",
        ),
        (
            "{Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: x, maxReceiveCount: 1}}}",
            "It.RedrivePolicy.deadLetterTargetArn: x is not a queue of this template",
        ),
        (
            "{Type: AWS::AmazonMQ::Broker, Properties: {EngineType: RABBITMQ, Users: []}}",
            "It.Users: got 0, Amazon MQ for RabbitMQ needs exactly one",
        ),
        ("{Type: AWS::ElastiCache::ServerlessCache, Properties: {}}", "It.Engine is missing"),
    ],
)
def test_a_resource_that_aws_would_refuse_is_refused(project, resource, complaint):
    with pytest.raises(TemplateError, match=re.escape(complaint)):
        project.load(f"It: {resource}")


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StageError, match=r"file/state\.json cannot be written"):
        write_atomically(tmp_path / "file" / "state.json", "{}")
