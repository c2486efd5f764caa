"""An emulator of DynamoDB, SQS, S3 and Secrets Manager, and models for the tests of provisioning."""

import json

import botocore.session
from moto.server import ThreadedMotoServer

from localstage.core.model import Bucket, Queue, Secret, StageModel, Table
from localstage.template import Live


class Emulator:
    """Moto on its own port, with botocore clients."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"
        self.live = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, "http://127.0.0.1:1", *[self.url] * 4, "")

    def client(self, service: str):
        keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        session = botocore.session.Session()
        return session.create_client(service, region_name="us-east-1", endpoint_url=self.url, **keys)

    def close(self) -> None:
        self._server.stop()


def key(name: str, kind: str) -> dict[str, str]:
    return {"AttributeName": name, "KeyType": kind}


def stage(
    *, range_key: str = "at", index: str = "UserIndex", visibility: str = "30", password: str = "one"
) -> StageModel:
    """A table with an index and TTL, a queue with a dead-letter queue that is declared after it, a bucket, a secret."""
    definition = {
        "TableName": "things",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", range_key, "user")],
        "KeySchema": [key("id", "HASH"), key(range_key, "RANGE")],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": [key("user", "HASH"), key(range_key, "RANGE")],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text"]},
            }
        ],
    }
    arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:keys"
    return StageModel(
        tables={"Things": Table("Things", "things", definition, "expiresAt")},
        queues={
            "Work": Queue("Work", "work", {"VisibilityTimeout": visibility}, "Dead", 5),
            "Dead": Queue("Dead", "dead", {"MessageRetentionPeriod": "1209600"}, None, None),
        },
        buckets={"Files": Bucket("Files", "headrace-files")},
        secrets={"Keys": Secret("Keys", "keys", arn, json.dumps({"password": password}))},
    )
