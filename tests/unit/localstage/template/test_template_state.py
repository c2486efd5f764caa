"""The next start reuses generated secrets and the translation of an unchanged template."""

import stat

SECRET = """
Keys:
  Type: AWS::SecretsManager::Secret
  Properties:
    GenerateSecretString:
      SecretStringTemplate: '{"username": "ann"}'
      GenerateStringKey: password
      PasswordLength: 20
      ExcludePunctuation: true
"""


def test_a_generated_secret_stays_and_only_its_owner_can_read_it(project):
    first = project.load(SECRET).secrets["Keys"]
    second = project.load(SECRET + "Other: {Type: AWS::SQS::Queue}").secrets["Keys"]

    assert first == second
    assert first.value not in repr(first)
    assert stat.S_IMODE((project.folder / ".local" / "secrets.json").stat().st_mode) == 0o600


def test_a_change_of_template_or_parameter_shows_at_the_next_start(project):
    head = "Parameters: {Word: {Type: String, Default: a}}"

    assert project.variables("WORD: !Ref Word", head=head) == {"WORD": "a"}
    assert project.variables("WORD: !Ref Word", "MORE: x", head=head) == {"WORD": "a", "MORE": "x"}
    (project.folder / "samconfig.toml").write_text("[local.deploy.parameters.parameter_overrides]\nWord = 'b'\n")
    assert project.variables("WORD: !Ref Word", head=head) == {"WORD": "b"}
