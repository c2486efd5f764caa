"""The route of the earlier texts of a message."""

from __future__ import annotations

import functools

from headrace.api.router import Route
from headrace.core.caller import CHAT_READ
from headrace.core.errors import NotFound
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.features.edits.versions import Versions, VersionServices, list_versions
from headrace.services.messages import messages_table_name
from headrace.services.reading import reading
from headrace.services.shared import dynamodb
from headrace.streams.chat.messages.paths import MessagePath


@functools.cache
def services() -> VersionServices:
    return VersionServices(reading(), DynamoChanges(dynamodb(), messages_table_name(), "messages"))


ROUTES = {
    "read_chat": {
        "GET /rooms/{roomId}/messages/{key}/versions": Route(
            list_versions, (CHAT_READ,), MessagePath, answer=Versions, errors=(NotFound,), services=services
        )
    }
}
