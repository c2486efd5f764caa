"""The next start reuses generated secrets and the translation of an unchanged template."""

import json
import os
import stat
import string
import subprocess
import sys
from pathlib import Path

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


def test_a_generated_secret_is_as_asked_for(project):
    value = json.loads(project.load(SECRET).secrets["Keys"].value)

    assert value["username"] == "ann"
    assert len(value["password"]) == 20
    assert not set(value["password"]) & set(string.punctuation)


def test_a_generated_secret_stays_and_only_its_owner_can_read_it(project):
    first = project.load(SECRET).secrets["Keys"]
    second = project.load(SECRET + "Other: {Type: AWS::SQS::Queue}").secrets["Keys"]

    assert first == second
    assert first.value not in repr(first)
    assert stat.S_IMODE((project.folder / ".local" / "secrets.json").stat().st_mode) == 0o600


def test_an_unchanged_template_starts_without_the_translator(project):
    project.load(SECRET)
    script = (
        "import sys; from pathlib import Path; from template_stage import LIVE;"
        "from localstage.template import Attributes, load;"
        "load(Path('template.yaml'), attributes=Attributes(LIVE));"
        "print([name for name in ('samtranslator', 'yaml', 'botocore') if name in sys.modules])"
    )
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[4])])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project.folder, env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_a_change_of_template_or_parameter_shows_at_the_next_start(project):
    head = "Parameters: {Word: {Type: String, Default: a}}"

    assert project.variables("WORD: !Ref Word", head=head) == {"WORD": "a"}
    assert project.variables("WORD: !Ref Word", "MORE: x", head=head) == {"WORD": "a", "MORE": "x"}
    (project.folder / "samconfig.toml").write_text("[local.deploy.parameters.parameter_overrides]\nWord = 'b'\n")
    assert project.variables("WORD: !Ref Word", head=head) == {"WORD": "b"}
