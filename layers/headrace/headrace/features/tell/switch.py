"""The switch of the receiver of webhooks in the Webhooks table: one row per URL. Without a row, it is on."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.core import times
from headrace.core.items import Item
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import DynamoTable


@dataclass(frozen=True, slots=True)
class SwitchState:
    """``failures`` in a row, of which the first was at ``failing_since``, and whether the receiver is switched off."""

    failures: int = 0
    failing_since: int = 0
    is_off: bool = False


class Switch:
    """The switch of ``url``. An operator deletes its row to switch it on. Every method may raise StoreUnavailable."""

    def __init__(self, client: AwsClient, table: str, url: str) -> None:
        self._table = DynamoTable(client, table, "switches of webhooks")
        self._key: Item = {"url": url or "none"}  # a key is never empty

    def state(self) -> SwitchState:
        return _state(self._table.get(self._key) or {})

    def failed(self, count: int, reason: str, at: int) -> SwitchState:
        """Count failures; the new state."""
        expression = "SET failingSince = if_not_exists(failingSince, :at), reason = :reason ADD failures :count"
        values = {":at": times.iso(at), ":reason": reason, ":count": count}
        return _state(self._table.update(self._key, expression, values, ReturnValues="ALL_NEW"))

    def recovered(self) -> None:
        """Forget the failures, unless the receiver is switched off."""
        expression = "SET failures = :none REMOVE failingSince, reason"
        self._table.update_if("attribute_not_exists(offSince)", self._key, expression, {":none": 0})

    def turn_off(self, at: int) -> None:
        self._table.update(self._key, "SET offSince = if_not_exists(offSince, :at)", {":at": times.iso(at)})


def _state(row: Item) -> SwitchState:
    since = row.get("failingSince")
    return SwitchState(row.get("failures", 0), times.micros_of(since) if since else 0, "offSince" in row)
