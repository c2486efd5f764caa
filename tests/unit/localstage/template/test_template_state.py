"""The next start reuses generated secrets and the translation of an unchanged template."""

import json
import os
import stat
import string
import subprocess
import sys
from pathlib import Path

import pytest

from localstage.core.errors import TemplateError
from localstage.template import Attributes, load
from tests.unit.localstage.template.template_stage import LIVE, Project

SECRET = """
Keys:
  Type: AWS::SecretsManager::Secret
  Properties:
    GenerateSecretString:
      SecretStringTemplate: '{"username": "ann"}'
      GenerateStringKey: password
      PasswordLength: 20
      ExcludePunctuation: true
      ExcludeCharacters: "0O"
"""
ECHO = Path(__file__).parents[3] / "e2e" / "echo" / "template.yaml"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_generated_secret_is_as_asked_for(project):
    value = json.loads(project.load(SECRET).secrets["Keys"].value)

    assert value["username"] == "ann"
    assert len(value["password"]) == 20
    assert not set(value["password"]) & set(string.punctuation + "0O")
    for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        assert set(value["password"]) & set(kind)


def test_a_generated_secret_stays_and_only_its_owner_can_read_it(project):
    first = project.load(SECRET).secrets["Keys"]
    second = project.load(SECRET + "Other: {Type: AWS::SQS::Queue}").secrets["Keys"]

    assert first == second
    assert first.value not in repr(first)
    assert stat.S_IMODE((project.folder / ".local" / "secrets.json").stat().st_mode) == 0o600


def test_a_secret_that_is_generated_differently_gets_a_new_value(project):
    first = project.load(SECRET).secrets["Keys"].value
    second = project.load(SECRET.replace("20", "24")).secrets["Keys"].value

    assert len(json.loads(second)["password"]) == 24
    assert first != second


def test_damaged_secrets_are_refused_and_never_replaced(project):
    project.load(SECRET)
    (project.folder / ".local" / "secrets.json").write_text("{")

    with pytest.raises(TemplateError, match="make reset"):
        project.load(SECRET)


def test_a_damaged_translation_is_translated_again(project):
    model = project.load(SECRET)
    (project.folder / ".local" / "translation.json").write_text("{")

    assert project.load(SECRET) == model


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
    assert project.variables("WORD: !Ref Word", head=head, overrides={"Word": "b"}) == {"WORD": "b"}
    assert project.variables("WORD: !Ref Word", "MORE: x", head=head) == {"WORD": "a", "MORE": "x"}


def test_the_echo_template_declares_one_of_everything(tmp_path):
    model = load(ECHO, attributes=Attributes(LIVE), state_dir=tmp_path)

    assert set(model.functions) == {"EchoFunction"}
    assert [layer.id for layer in model.functions["EchoFunction"].layers] == ["GreetingLayer"]
    assert model.functions["EchoFunction"].environment["GREETING"] == "hello from the local stage"
    assert model.tables["EventsTable"].ttl_attribute == "expiresAt"
    assert model.tables["EventsTable"].definition["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert model.brokers["Broker"].username == "echo"
    assert model.caches["Cache"].engine == "valkey"
    assert model.user_pools == ("UserPool",)
    assert model.custom_resources["Made"].properties["Greeting"] == "hello from the local stage"
    assert len(model.http_apis) == len(model.websocket_apis) == len(model.rabbitmq_mappings) == 1
    assert len(model.sqs_mappings) == len(model.schedules) == 1
    assert set(model.queues) == {"EchoQueue", "EchoDeadLetterQueue"}
    assert set(model.outputs) == {"ApiUrl", "QueueUrl"}
