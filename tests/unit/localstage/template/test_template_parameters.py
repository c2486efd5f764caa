"""Parameters take their values from defaults and samconfig.toml."""

import pytest

from localstage.core.errors import TemplateError
from tests.unit.localstage.template.template_stage import Project

HEAD = """
    Parameters:
      Word: {Type: String, Default: from-template}
      Count: {Type: Number, Default: 3, MinValue: 1, MaxValue: 9}
      Size: {Type: String, Default: small, AllowedValues: [small, big]}
      Names: {Type: CommaDelimitedList, Default: "a, b"}
      Lower: {Type: String, Default: abc, AllowedPattern: "[a-z]+"}
"""
LINES = ("WORD: !Ref Word", "COUNT: !Ref Count", "NAMES: !Join ['+', !Ref Names]")


def override(project: Project, values: str) -> None:
    """Write the table of a samconfig.toml with these ``values``."""
    (project.folder / "samconfig.toml").write_text(f"[local.deploy.parameters.parameter_overrides]\n{values}\n")


def test_defaults_give_way_to_samconfig(project):
    assert project.variables(*LINES, head=HEAD) == {"WORD": "from-template", "COUNT": "3", "NAMES": "a+b"}

    override(project, 'Word = "two words"\nNames = "x,y,z"\nCount = 5')
    assert project.variables(*LINES, head=HEAD) == {"WORD": "two words", "COUNT": "5", "NAMES": "x+y+z"}


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ("Size = 'huge'", r'Parameters.Size: got "huge", must be one of small, big'),
        ("Count = 'many'", r"Parameters.Count: .* must be a whole number"),
        ("Count = '1_0'", r"Parameters.Count: .* must be a whole number"),
        ("Count = 10", r"Parameters.Count: .* must be from 1 to 9"),
        ("Lower = 'ABC'", r"Parameters.Lower: .* \[a-z\]\+"),
    ],
)
def test_a_value_that_the_template_does_not_allow_is_refused(project, overrides, complaint):
    override(project, overrides)

    with pytest.raises(TemplateError, match=complaint):
        project.variables(*LINES, head=HEAD)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("not toml", "samconfig.toml"),
        ('[local.deploy.parameters]\nparameter_overrides = "Word=x"', "must be a table"),
        (
            '[local.deploy.parameters]\nparameter_overrides = {Wrod = "x"}',
            r"samconfig.toml \[local\]: .* no parameter Wrod",
        ),
    ],
)
def test_a_wrong_samconfig_is_refused_by_name(project, content, complaint):
    (project.folder / "samconfig.toml").write_text(content)

    with pytest.raises(TemplateError, match=complaint):
        project.variables(*LINES, head=HEAD)
