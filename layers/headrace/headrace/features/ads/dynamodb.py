"""Stubs of clicks in the table of clicks."""

from __future__ import annotations

from headrace.core.items import Item
from headrace.features.ads.stream import PLACE, TAKEN_BACK
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable

_OF_CLICKS = "timestampSk, adId, userId, adType, adShardId, bucketId, addressHash"


class DynamoStubs:
    """The table of clicks, of which some are taken back."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "clicks")

    def take_back(self, stub: Item) -> str:
        """Make a row a stub; the ``timestampSk`` of its click, empty without one. May raise StoreUnavailable."""
        key = {"clickId": stub["clickId"], "sender": stub["sender"]}
        values: Item = {":true": True}
        changes = f"{TAKEN_BACK} = :true"
        if "expiresAt" in stub:
            changes += ", expiresAt = :expires"
            values[":expires"] = stub["expiresAt"]
        try:
            row = self._table.update(
                key,
                f"SET {changes}, {PLACE} = timestampSk REMOVE {_OF_CLICKS}",
                values,
                ConditionExpression="attribute_exists(timestampSk)",
                ReturnValues="UPDATED_NEW",
            )
        except ConditionFailed:
            # The role may only see what it sets.
            changes += f", {PLACE} = if_not_exists({PLACE}, :nowhere)"
            row = self._table.update(key, f"SET {changes}", {**values, ":nowhere": ""}, ReturnValues="UPDATED_NEW")
        return str(row[PLACE])
