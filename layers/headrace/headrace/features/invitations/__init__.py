"""Invitations: who is added to a room at once, who is asked, and whom a user blocks."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="invitations",
    parts={"consent": "consent"},
    routes={"manage_rooms": "routes"},
    functions=("manage_invitations",),
    prefixes=("#invited#", "#inviters#"),
)
