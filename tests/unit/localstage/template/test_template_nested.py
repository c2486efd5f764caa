"""Nested stacks are not run, with a warning unless they contain only resources that the stage never runs."""

import logging

import pytest

from tests.unit.localstage.template.template_stage import Project

MONITORING = """
Resources:
  Errors:
    Type: AWS::CloudWatch::Alarm
"""


@pytest.mark.parametrize(
    ("more", "warnings"),
    [("", []), ("  Q: {Type: AWS::SQS::Queue}\n", ["Nested is not run: it is a nested stack, with AWS::SQS::Queue"])],
)
def test_a_nested_stack_with_something_to_run_is_a_warning(tmp_path, caplog, more, warnings):
    project = Project(tmp_path)
    (tmp_path / "nested.yaml").write_text(MONITORING + more)

    with caplog.at_level(logging.WARNING, "localstage.template"):
        project.load("Nested: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: nested.yaml}}")

    assert [record.getMessage() for record in caplog.records] == warnings
