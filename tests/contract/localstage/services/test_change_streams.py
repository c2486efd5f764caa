"""The stream of a table, at the next start after its definition has changed."""

from __future__ import annotations

from localstage.core.model import StageModel, Table
from localstage.template import Live
from localstage.template.provision import provision
from tests.contract.emulators import sdk
from tests.contract.tables import described, drop, index

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
ROOMS = {**described("Rooms", "room", "key", indexes=(index("Texts", "text", "key"),)), "StreamSpecification": STREAM}


async def test_the_stage_switches_the_stream_of_a_table_on_and_off(dynalite: str) -> None:
    live = Live("amqp://127.0.0.1:1", "127.0.0.1", 1, "http://127.0.0.1:1", dynalite, "", "", "", "")
    dynamodb = sdk("dynamodb")
    plain = {name: value for name, value in ROOMS.items() if name != "StreamSpecification"}
    for definition in (plain, ROOMS, ROOMS, plain, plain, ROOMS):
        model = StageModel(tables={"Rooms": Table("Rooms", "Rooms", definition, None)})
        await provision(model, live=live, base_environment={"AWS_ACCESS_KEY_ID": "test"})

        table = dynamodb.describe_table(TableName="Rooms")["Table"]
        assert table.get("StreamSpecification") == definition.get("StreamSpecification")
    drop(dynamodb, "Rooms")
