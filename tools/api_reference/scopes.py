"""What each scope allows, for the documents and the page of scopes."""

from __future__ import annotations

from headrace.core.caller import ANALYTICS_READ, CHAT_READ, CHAT_WRITE, EVENTS_WRITE, OPS

SCOPES = {
    CHAT_WRITE: "Send messages, ad clicks and events of declared streams for users as oneself, at most 24 hours old; "
    "create, change, join and leave rooms.",
    CHAT_READ: "Read rooms, histories, and one's own ad clicks and events of declared streams; subscribe to rooms; "
    "keep read marks; end one's own connections.",
    EVENTS_WRITE: "Act as a trusted producer: name `userId` and `username`, send events of any age, write to any room, "
    "write lift rides and events of declared streams, and manage the rooms and memberships of others.",
    ANALYTICS_READ: "Ask for totals and rates of messages, lift rides and ad clicks, and for events of declared "
    "streams.",
    OPS: "Read the status of a stage, and manage dead letters and parked messages.",
}
