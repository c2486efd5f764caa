"""A loop of the template (``Fn::ForEach``) makes a resource for each value, as on AWS."""

import pytest

from localstage.core.errors import TemplateError
from tests.unit.localstage.template.template_stage import Project

HEAD = """
Parameters:
  Queues: {Type: String, Default: "1", AllowedValues: ["1", "3"]}
Mappings:
  Numbers:
    "1": {All: ["0"]}
    "3": {All: ["0", "1", "2"]}
"""
LOOP = """
Fn::ForEach::Works:
  - Number
  - %s
  - Work${Number}:
      Type: AWS::SQS::Queue
      Properties: {QueueName: !Sub "work-${Number}", VisibilityTimeout: 60}
"""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def names(project, collection: str) -> list[str]:
    model = project.load(LOOP % collection, head=HEAD)
    return [queue.name for queue in model.queues.values()]


def test_a_loop_goes_through_a_list(project):
    assert names(project, '["a", "b"]') == ["work-a", "work-b"]


def test_a_loop_can_contain_loops(project):
    inner = """Fn::ForEach::Colors:
      - Color
      - [Red, Blue]
      - ${Color}${Number}:
          Type: AWS::SQS::Queue
          Properties: {QueueName: !Sub "${Color}-${Number}", VisibilityTimeout: 60}
"""
    head, _, _ = LOOP.partition("Work${Number}")
    model = project.load(head % "[1, 2]" + inner, head=HEAD)

    assert [queue.name for queue in model.queues.values()] == ["Red-1", "Blue-1", "Red-2", "Blue-2"]


@pytest.mark.parametrize(("count", "expected"), [("1", ["work-0"]), ("3", ["work-0", "work-1", "work-2"])])
def test_a_parameter_selects_how_often_a_loop_runs(project, count, expected):
    (project.folder / "samconfig.toml").write_text(
        f'[local.deploy.parameters.parameter_overrides]\nQueues = "{count}"\n'
    )

    assert names(project, "!FindInMap [Numbers, !Ref Queues, All]") == expected


@pytest.mark.parametrize("collection", ["!Ref Queues", "!FindInMap [Missing, !Ref Queues, All]", "1"])
def test_a_loop_through_anything_else_is_refused(project, collection):
    with pytest.raises(
        TemplateError, match="Fn::ForEach::Works must have an identifier, a list or a value of Mappings"
    ):
        names(project, collection)
