"""The names of operations and of results: generators make methods and classes of them."""

from __future__ import annotations

import re

from tools.api_reference.routes import TITLES, Declared

OPERATION_IDS = {
    "GET /users/{userId}/invitations": "listInvitations",
    "GET /users/{userId}/blocked": "listBlockedUsers",
    "DELETE /users/{userId}/blocked/{otherId}": "unblockUser",
    "PUT /users/{userId}/blocked/{otherId}": "blockUser",
    "PUT /rooms/{roomId}": "createRoom",
    "GET /rooms/{roomId}": "getRoom",
    "PATCH /rooms/{roomId}": "changeRoom",
    "PUT /users/{userId}/direct/{otherId}": "openDirectRoom",
    "PUT /rooms/{roomId}/members/{userId}": "inviteMember",
    "DELETE /rooms/{roomId}/members/{userId}": "removeMember",
    "GET /rooms/{roomId}/members": "listMembers",
    "GET /rooms/{roomId}/invitations": "listInvitedUsers",
    "POST /rooms/{roomId}/attachments": "startUpload",
    "PUT /rooms/{roomId}/read": "markRead",
    "GET /rooms/{roomId}/online": "listOnline",
    "GET /rooms/{roomId}/messages": "listMessages",
    "POST /rooms/{roomId}/messages": "sendMessage",
    "GET /rooms/{roomId}/messages/{key}/replies": "listReplies",
    "GET /rooms/{roomId}/messages/{key}/attachments": "listAttachments",
    "GET /users/{userId}/messages": "listUserMessages",
    "GET /users/{userId}/rooms": "listConversations",
    "GET /rooms/{roomId}/messages/{key}/versions": "listVersions",
    "GET /rooms/{roomId}/messages/{key}/reactions": "listReactions",
    "POST /messages/batch": "sendMessages",
    "PATCH /rooms/{roomId}/messages/{key}": "editMessage",
    "DELETE /rooms/{roomId}/messages/{key}": "deleteMessage",
    "PUT /rooms/{roomId}/messages/{key}/reaction": "reactToMessage",
    "DELETE /rooms/{roomId}/messages/{key}/reaction": "takeReactionBack",
    "GET /analytics/window": "getWindow",
    "GET /analytics/active-users": "countActiveUsers",
    "GET /analytics/series": "getSeries",
    "GET /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": "getDayVertical",
    "POST /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": "sendRide",
    "GET /skiers/{skierID}/vertical": "getVertical",
    "GET /skiers/seasons/{seasonID}/skiers/{skierID}": "listSkiedDays",
    "GET /skiers/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": "getSkierDay",
    "GET /resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers": "countSkiersByDay",
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers": "countSkiers",
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/lifts/{liftID}": "countLiftRides",
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/hours": "countRidesByHour",
    "GET /resorts/seasons/{seasonID}/days/{dayID}/rides": "countRides",
    "GET /resorts": "listResorts",
    "GET /resorts/{resortID}/seasons": "listSeasons",
    "POST /resorts/{resortID}/seasons": "addSeason",
    "GET /statistics": "getStatistics",
    "POST /lift-rides/batch": "sendRides",
    "POST /lift-rides/take-back": "takeBackRides",
    "GET /ads/{adId}/clicks": "listAdClicks",
    "POST /ads/{adId}/clicks": "sendClick",
    "GET /users/{userId}/clicks": "listUserClicks",
    "GET /ads/{adId}/stats": "getAdStats",
    "GET /ads/top": "listTopAds",
    "POST /clicks/batch": "sendClicks",
    "POST /clicks/take-back": "takeBackClicks",
    "POST /streams/{stream}/events": "sendEvents",
    "GET /streams": "listStreams",
    "GET /streams/{stream}/openapi": "describeStream",
    "GET /streams/{stream}/events": "listEvents",
    "GET /streams/{stream}/users/{userId}/events": "listUserEvents",
    "GET /streams/{stream}/window": "getEventWindow",
    "GET /streams/{stream}/top": "getEventTop",
    "GET /streams/{stream}/series": "getEventSeries",
    "GET /streams/{stream}/active-users": "countActiveEventUsers",
    "GET /health": "getHealth",
    "GET /users/{userId}/connections": "listConnections",
    "DELETE /users/{userId}/connections": "closeConnections",
    "DELETE /connections": "closeOwnConnections",
    "GET /dead-letters": "listDeadLetters",
    "POST /dead-letters/redrive": "redriveDeadLetters",
    "POST /dead-letters/discard": "discardDeadLetters",
    "GET /status": "getStatus",
    "GET /parked": "countParkedMessages",
    "POST /parked/return": "returnParkedMessages",
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
}
"""The name of each HTTP route's operation, in the order of the reference. Clients call it, so it stays as it is when a
function is renamed."""
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
