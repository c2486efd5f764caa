"""P15: Rows of a restored table are copied back, against moto."""

from __future__ import annotations

import uuid
from typing import Any

import boto3
import pytest

from headrace.features.people.erasures import DynamoErasures
from headrace.features.people.hashes import SKIER, USER, Person, PersonHashes
from headrace.runtime.aws import client
from headrace.storage.dynamodb.client import from_wire, to_wire
from localstage.core.errors import StageError
from localstage.template.document import parse
from ops.copy_rows import copy_rows
from ops.erased import Erased
from tests.unit.template_stack import TEMPLATE


def make(client: Any, key: str = "roomId") -> str:
    """An empty table; its name."""
    name = f"rooms-{uuid.uuid4().hex[:8]}"
    definitions = [{"AttributeName": key, "AttributeType": "S"}]
    schema = [{"AttributeName": key, "KeyType": "HASH"}]
    client.create_table(TableName=name, BillingMode=ON_DEMAND, AttributeDefinitions=definitions, KeySchema=schema)
    return name


@pytest.fixture
def dynamodb(aws: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    return boto3.client("dynamodb")


HASHES = PersonHashes(lambda: "a secret")
ERASED_AT = "2026-11-22T10:00:00.000000Z"


class Graves:
    """Who was erased, in memory."""

    def __init__(self, *people: Person) -> None:
        self._erased = {HASHES.key(person): ERASED_AT for person in people}

    def erased_at(self, keys: Any) -> dict[str, str]:
        return {key: at for key, at in self._erased.items() if key in keys}


def erased(*people: Person) -> Any:
    graves: Any = Graves(*people)
    return Erased(graves, HASHES)


ON_DEMAND = "PAY_PER_REQUEST"
INDEX = ("IndexName", "KeySchema", "Projection")
KEPT = {
    name: one["Properties"]
    for name, one in parse(TEMPLATE.read_text(), TEMPLATE)["Resources"].items()
    if "PointInTimeRecoverySpecification" in one.get("Properties", {})
}
"""The tables that can be restored."""


@pytest.mark.parametrize("table", KEPT)
def test_lost_rows_of_a_table_come_back_from_what_was_restored_row_by_row(dynamodb: Any, table: str) -> None:
    """The drill of docs/how-to/restore-a-table.md. To moto, the latest point in time is that of the call."""
    name, keys = f"{table}-{uuid.uuid4().hex[:8]}", [each["AttributeName"] for each in KEPT[table]["KeySchema"]]
    indexes = [{part: index[part] for part in INDEX} for index in KEPT[table].get("GlobalSecondaryIndexes", ())]
    given = {"AttributeDefinitions": KEPT[table]["AttributeDefinitions"], "KeySchema": KEPT[table]["KeySchema"]}
    given |= {"GlobalSecondaryIndexes": indexes} if indexes else {}
    dynamodb.create_table(TableName=name, BillingMode=ON_DEMAND, **given)
    stored = [{**{key: f"{key}-{number:02}" for key in keys}, "text": "as it was"} for number in range(60)]
    later = {**stored[30], "text": "changed since"}
    for row in stored:
        dynamodb.put_item(TableName=name, Item=to_wire(row))

    backup = dynamodb.create_backup(TableName=name, BackupName="drill")["BackupDetails"]["BackupArn"]
    dynamodb.update_continuous_backups(
        TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    dynamodb.restore_table_to_point_in_time(
        SourceTableName=name, TargetTableName=f"{name}-of-then", UseLatestRestorableTime=True
    )
    dynamodb.put_item(TableName=name, Item=to_wire(later))
    dynamodb.restore_table_from_backup(TargetTableName=f"{name}-of-backup", BackupArn=backup)
    for restored in ("of-then", "of-backup"):
        for row in stored[:20]:
            dynamodb.delete_item(TableName=name, Key=to_wire({key: row[key] for key in keys}))

        assert copy_rows(f"{name}-{restored}", name, erased()) == (20, 40, 0)
        assert copy_rows(f"{name}-{restored}", name, erased()) == (0, 60, 0)
        rows = [from_wire(row) for row in dynamodb.scan(TableName=name)["Items"]]
        assert sorted(rows, key=str) == sorted([*stored[:30], later, *stored[31:]], key=str)


ANN = Person(USER, "ann")
BEFORE, AFTER = "2026-11-22T09:59:59.999999Z", "2026-11-22T10:10:00.000001Z"
OPENING = {"streamKey": "doors#front", "timestampSk": f"{BEFORE}#o-1#t"}


@pytest.mark.parametrize(
    ("row", "left"),
    [
        ({"userId": "ann", "timestamp": BEFORE, "message": "hello"}, None),
        ({"userId": "ann", "timestamp": AFTER, "message": "back again"}, {}),
        ({"userId": "bob", "timestamp": BEFORE, "message": "hello"}, {}),
        ({"userId": "#changes#ann", "changedBy": "ann", "timestamp": BEFORE}, None),
        ({"userId": "#changes#ann", "changedBy": "ann", "timestamp": BEFORE, "timestampSk": f"ann#{BEFORE}#t"}, None),
        ({"userId": "#invited#ann", "invitedBy": "bob"}, None),
        ({"userId": "#invited#bob", "invitedBy": "ann"}, {"invitedBy"}),
        ({"userId": "#inviters#bob", "roomId": "#ann", "invited": {"x"}}, None),
        ({"userId": "#inviters#bob", "roomId": "#ann", "blockedAt": BEFORE}, {}),
        ({"userId": "#changes#ann", "changedBy": "ann", "by": "author", "timestamp": BEFORE}, None),
        ({"userId": "ann", "timestamp": "2026-11-22T10:05:00.000000Z", "message": "of a fast clock"}, None),
        ({"userId": "ann", "joins": {f"{BEFORE}#j-1"}}, None),
        ({"userId": "ann", "joins": {f"{BEFORE}#j-1", f"{AFTER}#j-2"}}, {}),
        ({"userId": "bob", "joins": {f"{BEFORE}#j-1"}, "addedBy": "ann"}, {"addedBy"}),
        ({"userId": "bob", "timestamp": BEFORE, "memberId": "ann", "memberName": "A"}, {"memberId", "memberName"}),
        ({"userId": "bob", "timestamp": BEFORE, "deletedBy": "ann"}, {"deletedBy"}),
        ({"roomId": "kitchen", "createdBy": "ann", "seats": {"ann", "bob"}}, {"createdBy", "seats"}),
        ({"skierID": "42", "rideSk": "2025#001"}, None),
        ({"skierID": "43", "rideSk": "2025#001"}, {}),
        ({"userId": "42", "timestamp": BEFORE}, {}),
        ({**OPENING, "userId": "bob", "createdBy": "ann", "joins": 3, "seats": "ann", "skierID": "42"}, {}),
        ({**OPENING, "userId": "ann", "by": "owner", "timestamp": AFTER, "leaves": AFTER}, None),
    ],
)
def test_what_is_of_an_erased_person_does_not_come_back(row: dict[str, Any], left: set[str] | None) -> None:
    """``left`` are the attributes that get a pseudonym; ``None``: the row is left out."""
    found = [from_wire(each) for each in erased(ANN, Person(SKIER, "42")).without([to_wire(row)])]

    if left is None:
        assert found == []
    else:
        pseudonym = HASHES.pseudonym(ANN, ERASED_AT)
        expected = {name: {pseudonym, "bob"} if name == "seats" else pseudonym for name in left}
        assert found == [{**row, **expected}]


def test_who_was_erased_is_looked_up_with_the_key_of_the_stack(dynamodb: Any) -> None:
    name = make(dynamodb, "person")
    secret = boto3.client("secretsmanager").create_secret(Name=name, SecretString="a secret")["ARN"]
    found = Erased.by(name, secret)
    row = to_wire({"userId": "ann", "timestamp": BEFORE, "message": "hello"})
    assert found.without([row]) == [row]

    DynamoErasures(client("dynamodb"), name).bury(HASHES.key(ANN), ERASED_AT)

    assert found.without([row]) == []


def test_what_an_erased_owner_deleted_stays_deleted() -> None:
    row = {"userId": "#changes#ann", "changedBy": "ann", "by": "owner", "change": "delete", "timestamp": BEFORE}

    (found,) = erased(ANN).without([to_wire(row)])

    pseudonym = HASHES.pseudonym(ANN, ERASED_AT)
    assert from_wire(found) == {**row, "userId": f"#changes#{pseudonym}", "changedBy": pseudonym}


def test_rows_are_not_copied_into_a_table_with_other_keys(dynamodb: Any) -> None:
    with pytest.raises(StageError, match="other keys than"):
        copy_rows(make(dynamodb, "resortID"), make(dynamodb), erased())


def test_a_missing_table_is_an_error_of_one_sentence(dynamodb: Any) -> None:
    with pytest.raises(StageError, match=r"0 rows were copied, then: .*not found"):
        copy_rows("no-such-table", make(dynamodb), erased())
