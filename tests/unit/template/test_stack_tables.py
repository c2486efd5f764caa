"""Tables: keys, indexes, expiry and recovery."""

from typing import Any

import pytest

from headrace.core.stream import Stream
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from tests.unit.template_stack import CLIENT_STREAMS, TemplateStack


def test_every_table_can_be_restored_and_has_the_right_expiry(
    template_stack: TemplateStack,
) -> None:
    """All expire items, except those that hold rights and which receivers are off. Of erasures, only exports do."""
    tables = template_stack.of_type("AWS::DynamoDB::Table")

    for table in tables.values():
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert "SSESpecification" not in table, "DynamoDB's own key encrypts, and is free"
    forget = {name for name, table in tables.items() if "TimeToLiveSpecification" in table}
    for name in forget:
        assert tables[name]["TimeToLiveSpecification"] == {"AttributeName": "expiresAt", "Enabled": True}
    assert tables.keys() - forget == {"RoomsTable", "MembershipsTable", "ResortsTable", "WebhooksTable"}


@pytest.mark.parametrize(
    ("stream", "table", "index"),
    [(CHAT, "ChatMessagesTable", "TimeIndex"), (ADS, "AdClicksTable", "TimeIndex"), (ADS, "AdClicksTable", "AdIndex")],
)
def test_the_indexes_contain_every_attribute_that_slots_need(
    template_stack: TemplateStack, stream: Stream, table: str, index: str
) -> None:
    assert stream.analytics_dimensions is not None
    (found,) = [
        one
        for one in template_stack.resources[table]["Properties"]["GlobalSecondaryIndexes"]
        if one["IndexName"] == index
    ]
    keys = {one["AttributeName"] for one in found["KeySchema"]} | {stream.partition_key, stream.sort_key}
    wanted = {stream.analytics_dimensions.user, *stream.analytics_dimensions.groups, "expiresAt"}
    assert set(found["Projection"]["NonKeyAttributes"]) == wanted - keys


def test_every_table_of_events_and_its_indexes_can_be_warmed(template_stack: TemplateStack) -> None:
    """An index that is not warm holds back the writes of its table."""
    warm = {"Fn::If": ["WarmsTables", {"WriteUnitsPerSecond": {"Ref": "WarmWriteUnits"}}, {"Ref": "AWS::NoValue"}]}
    for stream in CLIENT_STREAMS:
        table = template_stack.resources[template_stack.table_of(stream)]["Properties"]

        for one in (table, *table.get("GlobalSecondaryIndexes", [])):
            assert one.get("WarmThroughput") == warm, stream.name


def test_a_table_has_the_keys_and_indexes_of_its_stream(template_stack: TemplateStack) -> None:
    for stream in CLIENT_STREAMS:
        table = template_stack.resources[template_stack.table_of(stream)]["Properties"]
        indexes = {one["IndexName"]: _key(one) for one in table.get("GlobalSecondaryIndexes", [])}

        assert _key(table) == [stream.partition_key, stream.sort_key]
        assert indexes == {index.name: [index.partition_key, index.sort_key] for index in stream.indexes}


def _key(table: dict[str, Any]) -> list[str]:
    return [one["AttributeName"] for one in table["KeySchema"]]
