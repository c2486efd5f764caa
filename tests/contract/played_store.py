"""A store on a client with scripted responses."""

from __future__ import annotations

from headrace.runtime.aws import client
from headrace.storage.dynamodb.batch_writer import DynamoStore
from tests.worlds.played_dynamodb import Play, play_responses


class Played:
    """A ``store`` and the bodies of its ``calls``. A call for which ``play`` returns ``None`` goes to the emulator."""

    def __init__(self, play: Play, retry_seconds: float = 3.0) -> None:
        # Much time for each call: on a busy machine boto3 would repeat one, and ``calls`` would have both.
        dynamodb = client("dynamodb", timeout=30.0, connections=4)
        self.calls = play_responses(dynamodb, play)
        self.store = DynamoStore(dynamodb, 4, retry_seconds)
