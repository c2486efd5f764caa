"""Declared streams: each is one file of the folder ``streams``, written with ``headrace.declare``."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="declared",
    needs=("analytics",),
    parts={
        "streams": "stage",
        "steps": "people",
        "sources": "people",
        "screens": "people",
        "after": "stage",
        "ARCHIVED": "stream",
    },
    routes={"receive_http": "accepting", "receive_frame": "accepting", "read_frame": "follow"},
    functions=("read_streams",),
    actions=("sendEvents", "follow", "unfollow"),
)
