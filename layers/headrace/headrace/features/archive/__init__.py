"""The archive: a second copy of what is stored, in a bucket."""

from headrace.core.feature import Feature

FEATURE = Feature(name="archive", parts={"archive_steps": "tidier"}, functions=("archive_events",))
