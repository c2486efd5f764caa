"""Nested stacks are not run, with a warning unless they contain only resources that the stage never runs."""

import logging

import pytest

from tests.unit.localstage.template.template_stage import Project

STACKS = [
    "{Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: PATH, Parameters: {Name: !Ref Echo}}}",
    "{Type: AWS::Serverless::Application, Properties: {Location: PATH, Parameters: {Name: !Ref Echo}}}",
]
MONITORING = """
Parameters:
  Name: {Type: String}
Resources:
  Errors:
    Type: AWS::CloudWatch::Alarm
  Board: {"Type": "AWS::CloudWatch::Dashboard"}
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "templates").mkdir()
    return Project(tmp_path)


def warnings(project, caplog, stack, path="templates/nested.yaml"):
    """Load a template with this nested stack; return its warnings."""
    head = "Outputs: {Board: {Value: !GetAtt Nested.Outputs.BoardUrl}}"
    with caplog.at_level(logging.WARNING, "localstage.template"):
        model = project.load(f"Nested: {stack.replace('PATH', path)}", head=head)

    assert list(model.functions) == ["Echo"]
    assert "BoardUrl" in model.outputs["Board"]
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("stack", STACKS, ids=["stack", "application"])
def test_a_nested_stack_of_alarms_is_ignored(project, caplog, stack):
    (project.folder / "templates" / "nested.yaml").write_text(MONITORING)

    assert warnings(project, caplog, stack) == []


@pytest.mark.parametrize("stack", STACKS, ids=["stack", "application"])
def test_a_nested_stack_with_something_to_run_is_a_warning(project, caplog, stack):
    queue, function = "{Type: AWS::SQS::Queue}", "{'Type': 'AWS::Serverless::Function'}"
    (project.folder / "templates" / "nested.yaml").write_text(f"{MONITORING}  Q: {queue}\n  F: {function}\n")

    assert warnings(project, caplog, stack) == [
        "Nested is not run: it is a nested stack, with AWS::SQS::Queue, AWS::Serverless::Function"
    ]


def test_a_nested_stack_at_a_url_is_a_warning(project, caplog):
    url = "https://s3.amazonaws.com/bucket/nested.yaml"

    assert warnings(project, caplog, STACKS[0], url) == [
        "Nested is not run: it is a nested stack whose template is not a local file"
    ]
