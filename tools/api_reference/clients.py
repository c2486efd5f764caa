"""Which method of each client, and which command, has an operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tools.python_client.operations import snake

Node = Mapping[str, Any]
COMMANDS = {
    "ads clicks": "listAdClicks",
    "ads stats": "getAdStats",
    "ads take-back": "takeBackClicks",
    "ads top": "listTopAds",
    "ads user": "listUserClicks",
    "attachments": "listAttachments",
    "dead-letters": "listDeadLetters",
    "discard": "discardDeadLetters",
    "erase": "eraseUser",
    "erasure": "getErasure",
    "export": "exportOwnUser getOwnExport",
    "history": "listMessages",
    "online": "listOnline",
    "parked": "countParkedMessages returnParkedMessages",
    "react": "reactToMessage",
    "reactions": "listReactions",
    "redrive": "redriveDeadLetters",
    "replies": "listReplies",
    "retention": "getRoom changeRoom",
    "send": "sendMessage",
    "ski day": "getSkierDay",
    "ski day-vertical": "getDayVertical",
    "ski days": "listSkiedDays",
    "ski hours": "countRidesByHour",
    "ski lift": "countLiftRides",
    "ski resorts": "listResorts",
    "ski rides": "countRides",
    "ski seasons": "listSeasons",
    "ski skiers": "countSkiers",
    "ski statistics": "getStatistics",
    "ski take-back": "takeBackRides",
    "ski vertical": "getVertical",
    "status": "getStatus",
    "stream events": "listEvents",
    "stream list": "listStreams",
    "stream send": "sendEvents",
    "stream top": "getEventTop",
    "stream window": "getEventWindow",
    "unreact": "takeReactionBack",
    "window": "getWindow",
}
"""The operations of the HTTP API that each command asks."""
NO_COMMAND = {
    "Users do these in an app": (
        "listInvitations listBlockedUsers unblockUser blockUser createRoom openDirectRoom "
        "inviteMember removeMember listMembers listInvitedUsers markRead listUserMessages listConversations "
        "closeOwnConnections eraseOwnUser getOwnErasure editMessage deleteMessage listVersions"
    ),
    "A program sends these": "sendMessages sendRide sendRides addSeason sendClick sendClicks",
    "A part of what `window` shows": "countActiveUsers getSeries",
    "A part of what `stream window` shows": "countActiveEventUsers getEventSeries",
    "`stream events` asks this with `--user`": "listUserEvents",
    "Code generators ask this": "describeStream",
    "Another path of what `ski skiers` asks": "countSkiersByDay",
    "`export` asks these with `--user` and `--room`": "exportUser getExport exportRoom getRoomExport",
    "`send` asks this with `--attach`": "startUpload",
    "Load balancers and monitors ask this, with curl": "getHealth",
    "A rare step, which [a how-to](../how-to/access-and-secrets.md#end-a-users-connections) shows with curl": (
        "listConnections closeConnections"
    ),
}
"""Why operations have no command."""
SENDERS = {"sendMessage": "send", "sendMessages": "send", "startUpload": "upload", "listAttachments": "attachments"}
SENDERS |= {"sendEvents": "stream"}
"""What both clients call for these, to send until each message is accepted, and for files."""


class Frame(NamedTuple):
    """What has an action, or a frame that is pushed."""

    python: str
    typescript: str
    command: str = ""


FRAMES = {
    "sendMessage": Frame("Rooms.send", 'frame("sendMessage")'),
    "sendBatch": Frame("over_websocket", "send"),
    "sendEvents": Frame("Connection.request", 'frame("sendEvents")'),
    "editMessage": Frame("Connection.request", 'frame("editMessage")'),
    "deleteMessage": Frame("Connection.request", 'frame("deleteMessage")'),
    "react": Frame("Connection.request", 'frame("react")'),
    "unreact": Frame("Connection.request", 'frame("unreact")'),
    "sendSignal": Frame("Rooms.signal", "signal"),
    "follow": Frame("StreamFollower", "stream().follow", "stream events --follow"),
    "unfollow": Frame("Connection.request", "stream().follow"),
    "subscribe": Frame("Rooms.follow", "follow", "tail"),
    "check": Frame("Rooms.check", "check"),
    "resume": Frame("Rooms.follow", "follow", "tail"),
    "unsubscribe": Frame("Rooms.unfollow", "follow"),
    "history": Frame("Rooms.follow", 'frame("history")', "tail"),
    "ping": Frame("Connection.request", 'frame("ping")'),
    "authenticate": Frame("Rooms", "Headrace", "tail"),
    "pushMessages": Frame("Rooms.follow", "follow", "tail"),
    "pushChanges": Frame("Rooms.follow_user", "followUser"),
    "pushEvents": Frame("StreamFollower", "stream().follow", "stream events --follow"),
    "pushSignal": Frame("Rooms", 'on("signal")'),
}


def rows(http: Node, tag: str) -> Iterator[tuple[str, ...]]:
    """The operations of the HTTP API with a tag."""
    commands = {each: name for name, asked in COMMANDS.items() for each in asked.split()}
    for path, methods in http["paths"].items():
        for method, each in methods.items():
            name = each["operationId"]
            if tag in each["tags"]:
                more = [SENDERS[name]] if name in SENDERS else ["items"] * _is_list(http, each)
                yield (
                    f"`{method.upper()} {path}`",
                    ", ".join(f"`{each}`" for each in [snake(name), *more]),
                    f"`headrace {commands[name]}`" if name in commands else "",
                )


def frames(websocket: Node) -> Iterator[tuple[str, ...]]:
    """The frames of the WebSocket API."""
    for name, each in websocket["operations"].items():
        if each["channel"]["$ref"] == "#/channels/connection":
            has = FRAMES[name]
            sent = f"`{name}`" if "reply" in each else f"`{each['messages'][0]['$ref'].rpartition('/')[2]}`, pushed"
            command = f"`headrace {has.command}`" if has.command else ""
            yield (sent, f"`{has.python}`", f"`{has.typescript}`", command)


def _is_list(http: Node, operation: Node) -> bool:
    """Whether the answer is a page with a cursor to the next one."""
    schema = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
    named = http["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
    return "items" in named.get("properties", {}) and "next" in named["properties"]
