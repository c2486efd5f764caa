"""The route of who reacted to a message."""

from __future__ import annotations

from headrace.api.router import Route
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.features.reactions.reactors import ReactionPage, ReactionsQuery, list_reactions
from headrace.services.reading import reading
from headrace.streams.chat.messages.paths import MessagePath

ROUTES = {
    "read_chat": {
        "GET /rooms/{roomId}/messages/{key}/reactions": Route(
            list_reactions,
            (CHAT_READ,),
            MessagePath,
            query=ReactionsQuery,
            answer=ReactionPage,
            errors=(InvalidCursor, NotFound),
            services=reading,
        )
    }
}
