"""An invalid template is refused with the place of the error, and ignored resources are reported."""

import logging
import re

import pytest

from localstage.core.errors import TemplateError
from localstage.template import Attributes, load
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


def test_a_layer_that_is_not_in_the_template_is_named_in_a_warning(project, caplog):
    function = FUNCTION.rstrip() + "\n      Layers: ['arn:aws:lambda:us-east-1:017000801446:layer:Powertools:1']\n"
    with caplog.at_level(logging.WARNING, "localstage.template"):
        model = project.load("", function=function)

    assert model.functions["Echo"].layers == ()
    assert "layer:Powertools:1 is not a layer of this template" in caplog.text


@pytest.mark.parametrize(
    ("resource", "complaint"),
    [
        (
            "{Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: x, maxReceiveCount: 1}}}",
            "It.RedrivePolicy.deadLetterTargetArn: x is not a queue of this template",
        ),
        (
            "{Type: AWS::AmazonMQ::Broker, Properties: {EngineType: RABBITMQ, Users: []}}",
            "It.Users: got 0, Amazon MQ for RabbitMQ needs exactly one",
        ),
    ],
)
def test_a_resource_that_aws_would_refuse_is_refused(project, resource, complaint):
    with pytest.raises(TemplateError, match=re.escape(complaint)):
        project.load(f"It: {resource}")
