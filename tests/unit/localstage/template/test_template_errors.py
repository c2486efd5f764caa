"""An invalid template is refused with the place of the error, and ignored resources are reported."""

import pytest

from localstage.core.errors import TemplateError
from tests.unit.localstage.template.template_stage import FUNCTION


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Resources:\n  A: [1, 2\n  B: 3\n", r"template\.yaml, line 3: did not find expected ',' or '\]'"),
        ("just text", "not a template, it has no Resources"),
        ("Resources: \x01", r"template\.yaml: unacceptable character"),
        ("Resources:\n  A: {Typ: 'AWS::SQS::Queue'}", r"template\.yaml: A has no Type"),
        ("Resources:\n  A: {Type: 'AWS::Serverless::Function'}", r"template\.yaml: .*\[A\].*CodeUri"),
        (
            "Conditions: {Y: !Condition Y}\nResources:\n  A: {Type: 'AWS::SQS::Queue', Condition: Y}",
            "something refers to itself; .*: make validate",
        ),
    ],
)
def test_a_file_that_is_no_template_is_refused_with_the_place(project, text, complaint):
    with pytest.raises(TemplateError, match=complaint):
        project.load_text(text)


@pytest.mark.parametrize(
    ("wrong", "right", "complaint"),
    [
        ("code/", "nowhere/", "Echo: nowhere/ is not a folder"),
        ("app.handler", "main.handler", r'Echo\.Handler: "main\.handler" needs main\.py'),
        ("Handler:", "MemorySize: much\n      Handler:", r"Echo cannot be read \(.*much.*\); .*: make validate"),
        ("Handler:", "Hnadler:", r"template\.yaml: .*\[Echo\].* property Hnadler not defined"),
    ],
)
def test_a_function_that_cannot_run_is_refused_with_the_property(project, wrong, right, complaint):
    with pytest.raises(TemplateError, match=complaint):
        project.load("", function=FUNCTION.replace(wrong, right))
