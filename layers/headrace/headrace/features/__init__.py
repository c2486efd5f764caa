"""Features: one folder each, which plugs into the core at a few places and can be left out.

    features/reactions/
        __init__.py   FEATURE: its name, what it needs, and in which module each part of it is
        reaction.py   KINDS: its events and their rows
        accepting.py  the gate that says who may send them
        storing.py    builds hooks before and after they are stored, and what is kept beside a message (counts.py)
        dynamodb.py   their rows
        routes.py     ROUTES by function, and reactors.py that of read_chat
        telling.py    which of their changes go to TellTarget
        people.py     how a user is erased from them

``headrace.stage`` imports a part when the core asks for it. A feature imports packages above it in the map of
``headrace``, and the features that it needs. What it keeps beside a message is removed with the message, and a user is
erased from it, also while the feature is left out.
"""

NAMES = (
    "replies",
    "attachments",
    "edits",
    "reactions",
    "signals",
    "invitations",
    "channels",
    "unread",
    "online",
    "analytics",
    "ski",
    "ads",
    "declared",
    "tell",
    "archive",
    "people",
    "room_deletion",
    "operations",
)
"""The folders, in the order of their hooks. An erasure or an export that runs keeps its place in that order."""
