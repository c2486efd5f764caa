"""The resources of a template that have changed are changed in emulators where AWS can, and refused where it cannot."""

import json

import boto3
import pytest

from localstage.core.errors import TemplateError
from localstage.core.model import Queue, Secret, StageModel, Table
from localstage.template import Live
from localstage.template.provision import provision
from tests.contract.tables import described, index

NAME = "provisioned"
ARN = f"arn:aws:secretsmanager:us-east-1:123456789012:secret:{NAME}"


def stage(range_key: str = "at", owners: str = "OwnerIndex", visibility: str = "30", password: str = "one"):
    """A table with an index, a queue and a secret."""
    table = described(NAME, "id", range_key, indexes=(index(owners, "owner", range_key),))
    return StageModel(
        tables={"Things": Table("Things", NAME, table, "expiresAt")},
        queues={"Work": Queue("Work", NAME, {"VisibilityTimeout": visibility}, None, None)},
        secrets={"Keys": Secret("Keys", NAME, ARN, json.dumps({"password": password}))},
    )


@pytest.fixture
def live(aws):
    return Live("amqp://127.0.0.1:1", "127.0.0.1", 1, "http://127.0.0.1:1", *[aws] * 4, "")


async def test_a_changed_queue_or_secret_is_changed_in_place(live):
    await provision(stage(), live=live)

    await provision(stage(visibility="60", password="two"), live=live)

    sqs, secrets = boto3.client("sqs"), boto3.client("secretsmanager")
    url = sqs.get_queue_url(QueueName=NAME)["QueueUrl"]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    assert found == {"VisibilityTimeout": "60"}
    assert json.loads(secrets.get_secret_value(SecretId=NAME)["SecretString"]) == {"password": "two"}


@pytest.mark.parametrize(
    ("change", "named"), [({"range_key": "when"}, "KeySchema"), ({"owners": "OtherIndex"}, "index OtherIndex")]
)
async def test_a_table_with_other_keys_or_indexes_is_an_error_that_names_reset(live, change, named):
    await provision(stage(), live=live)

    with pytest.raises(TemplateError, match=rf"Things: table {NAME} .* make reset") as refusal:
        await provision(stage(**change), live=live)

    assert named in str(refusal.value)
