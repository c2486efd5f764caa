"""A loop of the template (``Fn::ForEach``) makes a resource for each value, as on AWS."""

import pytest

from localstage.core.errors import TemplateError

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


@pytest.mark.parametrize("collection", ["!Ref Queues", "!FindInMap [Missing, !Ref Queues, All]", "1"])
def test_a_loop_through_anything_else_is_refused(project, collection):
    with pytest.raises(
        TemplateError, match="Fn::ForEach::Works must have an identifier, a list or a value of Mappings"
    ):
        project.load(LOOP % collection, head=HEAD)
