"""Parameters take their values from defaults, samconfig.toml and the caller."""

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


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_defaults_give_way_to_samconfig_and_samconfig_to_the_caller(project):
    assert project.variables(*LINES, head=HEAD) == {"WORD": "from-template", "COUNT": "3", "NAMES": "a+b"}

    config = '[local.deploy.parameters]\nparameter_overrides = ["Word=from-samconfig", "Names=x,y,z"]\n'
    (project.folder / "samconfig.toml").write_text(config)
    assert project.variables(*LINES, head=HEAD) == {"WORD": "from-samconfig", "COUNT": "3", "NAMES": "x+y+z"}

    found = project.variables(*LINES, head=HEAD, overrides={"Word": "from-caller"})
    assert found == {"WORD": "from-caller", "COUNT": "3", "NAMES": "x+y+z"}


@pytest.mark.parametrize(
    "overrides",
    [
        '"Word=two\\\\ words Count=5"',
        '"Word=\\"two words\\" Count=\\"5\\""',
        "\"Word='two words' Count=5\"",
        '["Word=\\"two words\\"", "Count=5"]',
        '"ParameterKey=Word,ParameterValue=\\"two words\\" ParameterKey=Count,ParameterValue=5"',
        '{ Word = "two words", Count = 5 }',
    ],
)
def test_overrides_are_read_in_every_form_that_sam_reads(project, overrides):
    (project.folder / "samconfig.toml").write_text(f"[local.deploy.parameters]\nparameter_overrides = {overrides}\n")

    assert project.variables(*LINES[:2], head=HEAD) == {"WORD": "two words", "COUNT": "5"}


def test_only_the_chosen_environment_counts_and_deploy_comes_before_global(project):
    (project.folder / "samconfig.toml").write_text(
        '[local.global.parameters]\nparameter_overrides = "Word=shared"\n'
        '[prod.global.parameters]\nparameter_overrides = "Word=prod"\n'
        '[both.global.parameters]\nparameter_overrides = "Word=shared"\n'
        '[both.deploy.parameters]\nparameter_overrides = "Word=deploy"\n'
    )

    words = {env: project.variables(LINES[0], head=HEAD, config_env=env)["WORD"] for env in ("local", "both", "none")}

    assert words == {"local": "shared", "both": "deploy", "none": "from-template"}


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ({"Wrod": "x"}, r"overrides: the template has no parameter Wrod"),
        ({"Size": "huge"}, r'Parameters.Size: got "huge", must be one of small, big'),
        ({"Count": "many"}, r"Parameters.Count: .* must be a number"),
        ({"Count": "10"}, r"Parameters.Count: .* must be from 1 to 9"),
        ({"Lower": "ABC"}, r"Parameters.Lower: .* \[a-z\]\+"),
    ],
)
def test_a_value_that_the_template_does_not_allow_is_refused(project, overrides, complaint):
    with pytest.raises(TemplateError, match=complaint):
        project.variables(*LINES, head=HEAD, overrides=overrides)


def test_a_parameter_without_any_value_is_refused(project):
    with pytest.raises(TemplateError, match=r"Parameters\.Zone has no value: .*samconfig\.toml"):
        project.load("", head="Parameters: {Zone: {Type: String}}")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("not toml", "samconfig.toml"),
        ('[local.deploy.parameters]\nparameter_overrides = "Word"', "needs Name=value"),
        (
            '[local.deploy.parameters]\nparameter_overrides = "Wrod=x"',
            r"samconfig.toml \[local\]: .* no parameter Wrod",
        ),
    ],
)
def test_a_wrong_samconfig_is_refused_by_name(project, content, complaint):
    (project.folder / "samconfig.toml").write_text(content)

    with pytest.raises(TemplateError, match=complaint):
        project.variables(*LINES, head=HEAD)


def test_a_refused_value_of_a_noecho_parameter_is_not_shown(project):
    head = "Parameters: {Key: {Type: String, NoEcho: true, MinLength: 12}}"

    with pytest.raises(TemplateError) as refusal:
        project.load("", head=head, overrides={"Key": "hunter2"})

    assert "hunter2" not in str(refusal.value)
