"""Channels: what changes for a user in their rooms, on the connections that follow the user."""

from headrace.core.feature import Feature

FEATURE = Feature(name="channels", parts={"channels": "channels"}, routes={"read_frame": "routes"})
