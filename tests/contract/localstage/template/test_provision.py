"""The tables, queues, buckets and secrets of a template are created in emulators, and changed where AWS can."""

import json

import pytest

from localstage.core.errors import TemplateError
from localstage.template.provision import provision
from tests.contract.localstage.template.provision_harness import stage


async def test_all_resources_are_created_and_a_second_start_changes_nothing(emulator):
    await provision(stage(), live=emulator.live)
    dynamodb, sqs, secrets = (emulator.client(name) for name in ("dynamodb", "sqs", "secretsmanager"))
    dynamodb.put_item(TableName="things", Item={"id": {"S": "1"}, "at": {"S": "2"}})
    sqs.send_message(QueueUrl=f"{emulator.url}/123456789012/work", MessageBody="kept")
    s3 = emulator.client("s3")
    s3.put_object(Bucket="headrace-files", Key="a/b", Body=b"kept")

    await provision(stage(), live=emulator.live)

    table = dynamodb.describe_table(TableName="things")["Table"]
    assert (table["TableStatus"], table["ItemCount"]) == ("ACTIVE", 1)
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["UserIndex"]
    ttl = dynamodb.describe_time_to_live(TableName="things")["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiresAt"}
    queue = sqs.get_queue_attributes(QueueUrl=f"{emulator.url}/123456789012/work", AttributeNames=["All"])["Attributes"]
    assert (queue["VisibilityTimeout"], queue["ApproximateNumberOfMessages"]) == ("30", "1")
    redrive = json.loads(queue["RedrivePolicy"])
    assert redrive["deadLetterTargetArn"] == "arn:aws:sqs:us-east-1:123456789012:dead"
    assert int(redrive["maxReceiveCount"]) == 5
    assert s3.get_object(Bucket="headrace-files", Key="a/b")["Body"].read() == b"kept"
    arn = stage().secrets["Keys"].arn
    assert json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"]) == {"password": "one"}


async def test_a_changed_queue_or_secret_is_changed_in_place(emulator):
    await provision(stage(), live=emulator.live)

    await provision(stage(visibility="60", password="two"), live=emulator.live)

    queue_url = f"{emulator.url}/123456789012/work"
    found = emulator.client("sqs").get_queue_attributes(QueueUrl=queue_url, AttributeNames=["VisibilityTimeout"])
    assert found["Attributes"]["VisibilityTimeout"] == "60"
    value = emulator.client("secretsmanager").get_secret_value(SecretId="keys")["SecretString"]
    assert json.loads(value) == {"password": "two"}


@pytest.mark.parametrize(
    ("change", "named"), [({"range_key": "when"}, "KeySchema"), ({"index": "OtherIndex"}, "index OtherIndex")]
)
async def test_a_table_with_other_keys_or_indexes_is_an_error_that_names_reset(emulator, change, named):
    await provision(stage(), live=emulator.live)

    with pytest.raises(TemplateError, match=r"Things: table things .* make reset") as refusal:
        await provision(stage(**change), live=emulator.live)

    assert named in str(refusal.value)
