"""People: what erases users for good, and what exports everything that is held about users and rooms."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="people",
    parts={"erased": "erasures"},
    functions=("erase_users", "manage_erasures", "manage_exports", "write_exports"),
)
