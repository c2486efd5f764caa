"""Erases a user from clicks. They stay, so that counts of ads stay as they are, with a pseudonym."""

from __future__ import annotations

from functools import partial

from headrace.analytics.generations import LateEvents
from headrace.core.collections import parts
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.erasure.finders import clicks_of
from headrace.erasure.tasks import AT_ONCE, PART, Progress, Target
from headrace.runtime.aws import AwsClient
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.client import DynamoTable, rows_of


class ClickEraser:
    """The step for the table of clicks."""

    def __init__(self, client: AwsClient, table: str, late: LateEvents) -> None:
        self._table = DynamoTable(client, table, "clicks")
        self._late = late
        self._parallel = Parallel(AT_ONCE, "erasure")

    def clicks(self, target: Target) -> Progress:
        """Put a pseudonym in place of the user, and remove the hashed address."""
        for rows in parts(rows_of(clicks_of(self._table, target.user_id)), PART):
            # Before the rows change: afterwards, they are not found again.
            if any(self._late.after_store(rows)):
                raise StoreUnavailable("analytics cannot be marked as changed right now")
            yield "clicks", sum(self._parallel.map(partial(self._erase, target), rows))

    def _erase(self, target: Target, row: Item) -> bool:
        key = {"clickId": row["clickId"], "sender": row["sender"]}
        values: Item = {":user": target.user_id, ":name": target.pseudonym}
        return self._table.update_if("userId = :user", key, "SET userId = :name REMOVE addressHash", values)
