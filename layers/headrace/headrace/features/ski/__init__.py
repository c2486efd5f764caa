"""Ski: rides of skiers with lifts, and the questions about a resort's day."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="ski",
    parts={
        "STREAM": "stream",
        "gate": "accepting",
        "after": "storing",
        "steps": "people",
        "sources": "people",
    },
    routes={"receive_http": "accepting"},
    functions=("read_ski",),
    gates=("ski",),
    tells=("ride.stored", "ride.taken-back"),
)
