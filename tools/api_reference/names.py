"""The names of operations and of results: generators make methods and classes of them."""

from __future__ import annotations

import re

from tools.api_reference.routes import TITLES, Declared

OPERATION_IDS = {
    "PUT /rooms/{roomId}": "createRoom",
    "GET /rooms/{roomId}": "getRoom",
    "PATCH /rooms/{roomId}": "changeRoom",
    "PUT /users/{userId}/direct/{otherId}": "openDirectRoom",
    "GET /rooms/{roomId}/members": "listMembers",
    "GET /rooms/{roomId}/online": "listOnline",
    "PUT /rooms/{roomId}/members/{userId}": "inviteMember",
    "DELETE /rooms/{roomId}/members/{userId}": "removeMember",
    "GET /rooms/{roomId}/invitations": "listInvitedUsers",
    "GET /users/{userId}/invitations": "listInvitations",
    "GET /users/{userId}/blocked": "listBlockedUsers",
    "PUT /users/{userId}/blocked/{otherId}": "blockUser",
    "DELETE /users/{userId}/blocked/{otherId}": "unblockUser",
    "GET /rooms/{roomId}/messages": "listMessages",
    "POST /rooms/{roomId}/messages": "sendMessage",
    "POST /messages/batch": "sendMessages",
    "PATCH /rooms/{roomId}/messages/{key}": "editMessage",
    "DELETE /rooms/{roomId}/messages/{key}": "deleteMessage",
    "PUT /rooms/{roomId}/messages/{key}/reaction": "reactToMessage",
    "DELETE /rooms/{roomId}/messages/{key}/reaction": "takeReactionBack",
    "GET /rooms/{roomId}/messages/{key}/reactions": "listReactions",
    "POST /rooms/{roomId}/attachments": "startUpload",
    "GET /rooms/{roomId}/messages/{key}/attachments": "listAttachments",
    "GET /rooms/{roomId}/messages/{key}/versions": "listVersions",
    "GET /rooms/{roomId}/messages/{key}/replies": "listReplies",
    "GET /users/{userId}/messages": "listUserMessages",
    "GET /users/{userId}/rooms": "listConversations",
    "PUT /rooms/{roomId}/read": "markRead",
    "GET /analytics/window": "getWindow",
    "GET /analytics/active-users": "countActiveUsers",
    "GET /analytics/series": "getSeries",
    "GET /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": "getDayVertical",
    "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": "sendRide",
    "POST /lift-rides/batch": "sendRides",
    "POST /lift-rides/take-back": "takeBackRides",
    "GET /skiers/{skierID}/vertical": "getVertical",
    "GET /skiers/seasons/{seasonID}/skiers/{skierID}": "listSkiedDays",
    "GET /skiers/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": "getSkierDay",
    "GET /resorts": "listResorts",
    "GET /resorts/{resortID}/seasons": "listSeasons",
    "POST /resorts/{resortID}/seasons": "addSeason",
    "GET /resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers": "countSkiersByDay",
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers": "countSkiers",
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/lifts/{liftID}": "countLiftRides",
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/hours": "countRidesByHour",
    "GET /resorts/seasons/{seasonID}/days/{dayID}/rides": "countRides",
    "GET /statistics": "getStatistics",
    "GET /ads/{adId}/clicks": "listAdClicks",
    "POST /ads/{adId}/clicks": "sendClick",
    "POST /clicks/batch": "sendClicks",
    "POST /clicks/take-back": "takeBackClicks",
    "GET /users/{userId}/clicks": "listUserClicks",
    "GET /ads/{adId}/stats": "getAdStats",
    "GET /ads/top": "listTopAds",
    "GET /health": "getHealth",
    "GET /status": "getStatus",
    "GET /users/{userId}/connections": "listConnections",
    "DELETE /users/{userId}/connections": "closeConnections",
    "DELETE /connections": "closeOwnConnections",
    "POST /users/{userId}/erasure": "eraseUser",
    "GET /users/{userId}/erasure": "getErasure",
    "POST /erasure": "eraseOwnUser",
    "GET /erasure": "getOwnErasure",
    "POST /users/{userId}/export": "exportUser",
    "GET /users/{userId}/export": "getExport",
    "POST /export": "exportOwnUser",
    "GET /export": "getOwnExport",
    "POST /rooms/{roomId}/export": "exportRoom",
    "GET /rooms/{roomId}/export": "getRoomExport",
    "GET /dead-letters": "listDeadLetters",
    "POST /dead-letters/redrive": "redriveDeadLetters",
    "POST /dead-letters/discard": "discardDeadLetters",
    "GET /parked": "countParkedMessages",
    "POST /parked/return": "returnParkedMessages",
}
"""The name of each HTTP route's operation. Clients call it, so it stays as it is when a function is renamed."""
EVENTS = {"chat": "Message", "ski": "Ride", "ads": "Click"}
"""What an event of each stream is called."""


def operation_id(route: Declared) -> str:
    """The name of a route's operation; until it has one, made of its method and path."""
    words = re.findall(r"[A-Za-z]+", route.path)
    return OPERATION_IDS.get(route.key) or route.method + "".join(word[0].upper() + word[1:] for word in words)


def title(area: str) -> str:
    """The title of an area; until it has one, made of its name."""
    return TITLES.get(area, area.capitalize())


def event_name(route: Declared) -> str:
    """What an event of the route is called, as a part of the names of schemas."""
    return EVENTS.get(route.area, route.area.capitalize())
