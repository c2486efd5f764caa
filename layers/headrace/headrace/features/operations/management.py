"""Asks API Gateway about connections, and ends them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headrace.core.errors import Unavailable
from headrace.core.times import SECOND, iso
from headrace.runtime.aws import AwsClient, AwsError, call

GONE = "GoneException"


@dataclass(frozen=True, slots=True)
class Activity:
    """When a connection was opened, and when API Gateway last saw a frame of it; canonical times."""

    connected_at: str
    last_active_at: str


class ConnectionManager:
    """Knows which connections are open; ``client`` is that of API Gateway's management API.

    Every method may raise Unavailable.
    """

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    def activity(self, connection_id: str) -> Activity | None:
        """The activity of a connection; ``None`` if it is closed."""
        found = self._ask(self._client.get_connection, connection_id)
        return None if found is None else Activity(_time(found["ConnectedAt"]), _time(found["LastActiveAt"]))

    def close(self, connection_id: str) -> bool:
        """Close a connection; whether it was open."""
        return self._ask(self._client.delete_connection, connection_id) is not None

    def _ask(self, operation: Any, connection_id: str) -> dict[str, Any] | None:
        try:
            return call(operation, expected=(GONE,), ConnectionId=connection_id)
        except AwsError as error:
            if error.code == GONE:
                return None
            raise Unavailable(f"connections cannot be reached: {error.code}") from error


def _time(at: datetime) -> str:
    return iso(round(at.timestamp() * SECOND))
