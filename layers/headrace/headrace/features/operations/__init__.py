"""Operations: probes of the main lane, dead letters, the parking queue, and the connections of users."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="operations",
    parts={"STREAM": "probe", "status": "probes"},
    functions=("manage_connections", "manage_dead_letters", "return_parked", "send_probes"),
    prefixes=("#probe#",),
)
