"""Online: who follows a room now."""

from headrace.core.feature import Feature

FEATURE = Feature(name="online", routes={"manage_rooms": "routes"})
